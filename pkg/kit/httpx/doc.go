// Package httpx owns how HTTP enters a service: one gin engine with request ids, an
// access log, a body cap and problem documents; and doors, each an OpenAPI document with
// its generated handlers. A door finds the operation of a request, its caller, whether
// the caller may (kit/authz), and whether the request is what the document says, before
// a handler sees it. Handlers find the caller with actor.From, the idempotency key with
// idem.From and the request's id with obs.RequestID.
//
// Ids in paths are not checked for their form: a malformed id, a random one and another
// org's all answer the same 404, which the handler's look-up gives.
//
// With generated code:
//
//	httpx.Door{Spec: spec, Register: func(r gin.IRouter) {
//		strict := publicgen.NewStrictHandlerWithOptions(handlers, nil, publicgen.StrictGinServerOptions(httpx.StrictOptions()))
//		publicgen.RegisterHandlersWithOptions(r, strict, publicgen.GinServerOptions{ErrorHandler: httpx.BindError})
//	}}
package httpx
