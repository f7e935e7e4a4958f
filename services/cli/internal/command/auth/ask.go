package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// ask puts a question to a person. hidden keeps the answer off the screen.
func ask(ctx context.Context, sh *shell.Shell, question string, hidden bool) (string, error) {
	f, ok := sh.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", failure.Usagef("there is no terminal to ask on: give --email and --password-stdin")
	}
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	fmt.Fprint(sh.Err, question)
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // reading cannot be interrupted; leaving it behind can
		if !hidden {
			text, err := line(f)
			got <- answer{text, err}
			return
		}
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(sh.Err)
		got <- answer{string(b), err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(sh.Err)
		return "", errors.Join(ctx.Err(), term.Restore(int(f.Fd()), before))
	case a := <-got:
		return a.text, a.err
	}
}

// line reads one line, byte by byte, so that nothing after it is taken from whoever reads on.
func line(r io.Reader) (string, error) {
	var b strings.Builder
	one := make([]byte, 1)
	for {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		b.Write(one[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if b.Len() > 4096 {
			return "", failure.Usagef("the first line of standard input is too long for a password")
		}
	}
	text := strings.TrimSuffix(b.String(), "\r")
	if text == "" {
		return "", failure.Usagef("the answer is empty")
	}
	return text, nil
}
