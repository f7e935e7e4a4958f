package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogsComeFromTheNode(t *testing.T) {
	t.Parallel()
	w := setup(t)
	resp := w.call("GET", "/v1/instances/ins_1/logs", "owner", "")
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "The node rack1, which keeps this output, cannot be reached right now.", resp.json(t)["detail"])

	asked := make(chan string, 9)
	w.openTunnel(w.goodNode(), func(rw http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = io.WriteString(rw, "hello\n")
	})
	require.Eventually(t, func() bool { return w.call("GET", "/v1/instances/ins_1/logs", "owner", "").StatusCode == 200 }, 5*time.Second, 5*time.Millisecond)
	<-asked
	resp = w.call("GET", "/v1/instances/ins_1/logs?follow=true&tail=10", "owner", "")
	require.Equal(t, "hello\n", resp.text)
	require.Equal(t, "text/plain; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Equal(t, "/logs/mem_1?follow=1&tail=10", <-asked, "of the instance's last seat")

	require.Equal(t, 404, w.call("GET", "/v1/instances/ins_404/logs", "owner", "").StatusCode, "who may not see it learns nothing")
	require.Equal(t, 401, w.call("GET", "/v1/instances/ins_1/logs", "", "").StatusCode)
	require.Equal(t, 422, w.call("GET", "/v1/instances/ins_1/logs?tail=-1", "owner", "").StatusCode)
	require.Empty(t, asked)
}

func TestLogsStreamAndEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ended := make(chan struct{})
	w.openTunnel(w.goodNode(), func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "first\n")
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
		close(ended)
	})
	resp := w.logs("?follow=true")
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "first\n", line, "at once, not at the end")

	w.mu.Lock()
	delete(w.known, "owner")
	w.mu.Unlock()
	_, err = lines.ReadString('\n')
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF, "cut, not ended")
	<-ended
}

func TestLogsThatBreakOffAreCut(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.openTunnel(w.goodNode(), func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, "half")
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	resp := w.logs("")
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.Equal(t, "half", string(got))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// logs opens the output as soon as the node's tunnel is in use.
func (w *world) logs(query string) (resp *http.Response) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		r, err := http.NewRequestWithContext(w.t.Context(), "GET", w.public+"/v1/instances/ins_1/logs"+query, nil)
		require.NoError(w.t, err)
		r.Header.Set("Authorization", "Bearer owner")
		resp, err = http.DefaultClient.Do(r)
		require.NoError(w.t, err)
		if resp.StatusCode != http.StatusOK {
			_ = resp.Body.Close()
		}
		return resp.StatusCode == http.StatusOK
	}, 5*time.Second, 5*time.Millisecond)
	return resp
}
