// Drives `zot rpc` from Go: sends a prompt and prints the text as it streams. Needs only the
// standard library.
//
//	go run . "what does this project do?" [FLAGS...]
//
// Ctrl-C aborts the turn. If a command fails, the exit code is 1.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// line holds the fields of a line from zot that this client uses.
type line struct {
	Type    string `json:"type"`
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Message string `json:"message"`
	Delta   string `json:"delta"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: client MESSAGE [FLAGS...]")
		os.Exit(2)
	}
	ok, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func run(message string, flags []string) (bool, error) {
	program := os.Getenv("ZOT")
	if program == "" {
		program = "zot"
	}
	zot := exec.Command(program, append([]string{"rpc"}, flags...)...)
	zot.Stderr = os.Stderr
	// Run zot in its own process group, so that Ctrl-C reaches only us and we can send `abort`.
	zot.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := zot.StdinPipe()
	if err != nil {
		return false, err
	}
	stdout, err := zot.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := zot.Start(); err != nil {
		return false, err
	}

	// Two goroutines send, and their lines must not interleave.
	var sending sync.Mutex
	send := func(command any) error {
		sending.Lock()
		defer sending.Unlock()
		return json.NewEncoder(stdin).Encode(command)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		for range interrupts {
			_ = send(map[string]string{"type": "abort"})
		}
	}()
	if err := send(map[string]string{"id": "1", "type": "prompt", "message": message}); err != nil {
		return false, err
	}

	ok := true
	fail := func(why string) {
		fmt.Fprintln(os.Stderr, "error:", why)
		ok = false
	}
	// Use a decoder, because a line can exceed a scanner's limit.
	reader := bufio.NewReader(stdout)
	lines := json.NewDecoder(reader)
reading:
	for {
		var it line
		if err := lines.Decode(&it); err != nil {
			break
		}
		switch {
		case it.Type == "text_delta":
			fmt.Print(it.Delta)
		case it.Type == "error":
			fail(it.Message)
		case it.Type == "response" && !it.Success:
			fail(it.Error)
			break reading
		case it.Type == "done":
			break reading
		}
	}
	fmt.Println()
	_ = stdin.Close()
	// Keep reading, so that zot does not wait for us.
	_, _ = io.Copy(io.Discard, lines.Buffered())
	_, _ = io.Copy(io.Discard, reader)
	return ok, zot.Wait()
}
