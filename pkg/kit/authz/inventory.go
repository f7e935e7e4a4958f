package authz

var inventoryRules = map[string]Rule{
	"createJoinToken": {Who: Operator},
	"listPools":       {Who: Operator},
	"listNodes":       {Who: Operator},
	"getNode":         {Who: Operator},
	"updateNode":      {Who: Operator},
	"deleteNode":      {Who: Operator},
	"listGPUs":        {Who: Operator},
	"getGPU":          {Who: Operator},
	"updateGPU":       {Who: Operator},

	"enrollNode":           {Who: Anyone}, // the join token in the body is the credential
	"renewNodeCertificate": {Who: NodeOnly},
	"putNodeStatus":        {Who: NodeOnly},

	"getAgentsCA":             {Who: Services("gateway")},
	"createServerCertificate": {Who: Services("gateway")},
	"createNodeJoinToken":     {Who: Services("sim")},
	"findNode":                {Who: Services("sim")},
}
