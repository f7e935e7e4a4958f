package output

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

type doc struct {
	ID     string            `json:"id"`
	Price  string            `json:"price"`
	Flag   string            `json:"flag"`
	Count  int               `json:"count"`
	Labels map[string]string `json:"labels"`
	None   *string           `json:"none"`
	List   []string          `json:"list"`
}

var sample = doc{ID: "ins_1", Price: "14.000000", Flag: "yes", Count: 3, Labels: map[string]string{}, List: []string{"a <b> & \"c\"", "0x10", "", "多行\n文本"}}

func write(t *testing.T, f Format) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f.Write(&b, sample, func(p *Page) {
		tab := p.Table("ID", "PRICE")
		tab.Row(sample.ID, sample.Price)
		tab.Row("名字", "1")
		p.Table().Row("evil", "a\x1b[2Jb\nc\u202ed")
	}))
	return b.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ID     PRICE\nins_1  14.000000\n名字   1\n\nevil  a·[2Jb·c·d\n", write(t, AsTable))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"id":"ins_1","price":"14.000000","flag":"yes","count":3,"labels":{},"none":null,"list":["a <b> & \"c\"","0x10","","多行\n文本"]}`, write(t, AsJSON))
	require.Contains(t, write(t, AsJSON), "<b>")
}

// Text stays text: a price must not come back as a number, "yes" not as a truth.
func TestYAMLKeepsTypesAndOrder(t *testing.T) {
	t.Parallel()
	got := write(t, AsYAML)
	require.Contains(t, got, "id: ins_1\nprice: \"14.000000\"\nflag: \"yes\"\ncount: 3\nlabels: {}\nnone: null\nlist:\n")
	var back map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(got), &back))
	require.Equal(t, "14.000000", back["price"])
	require.Equal(t, "yes", back["flag"])
	require.Equal(t, []any{"a <b> & \"c\"", "0x10", "", "多行\n文本"}, back["list"])
}

func TestFormatIsOneOfThree(t *testing.T) {
	t.Parallel()
	var f Format
	require.NoError(t, f.Set("yaml"))
	require.Equal(t, AsYAML, f)
	require.Error(t, f.Set("xml"))
	require.Equal(t, AsYAML, f)
}

func TestAmount(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"14.000000": "14.00", "0.010500": "0.0105", "3": "3.00", "-1.230000": "-1.23", "0.000001": "0.000001"} {
		require.Equal(t, want, Amount(in))
	}
}
