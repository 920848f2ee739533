// Tests retries under faults in Go. Set MCP_URL to the URL of your MCP server. Requires Squall on PATH (or its
// command in SQUALL, such as "npx mcp-squall"), and only the standard library.
package tests

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Squall is a running sidecar: URL replaces the server's URL, SetRules sets the rules.
type Squall struct {
	URL          string
	t            *testing.T
	rules, admin string
}

// Fault is a fault injected into a call.
type Fault struct{ Rule, Fault, Tool, Effect, At string }

// StartSquall starts Squall in front of the server for one test, and stops it after the test. The log of
// a failed test lists the injected faults.
func StartSquall(t *testing.T) *Squall {
	t.Helper()
	upstream, err := url.Parse(or(os.Getenv("MCP_URL"), "http://127.0.0.1:3000/mcp"))
	check(t, err)
	squall := &Squall{t: t, rules: filepath.Join(t.TempDir(), "rules.yaml")}
	check(t, os.WriteFile(squall.rules, []byte("rules: []\n"), 0o600))
	words := append(strings.Fields(or(os.Getenv("SQUALL"), "squall")),
		"run", "--upstream", upstream.Scheme+"://"+upstream.Host, "--rules", squall.rules,
		"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--guard-error-rate", "off")
	command := exec.Command(words[0], words[1:]...)
	output, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	log := bufio.NewScanner(output)
	for (squall.URL == "" || squall.admin == "") && log.Scan() {
		var line struct{ Msg, Address string }
		_ = json.Unmarshal(log.Bytes(), &line)
		switch line.Msg {
		case "listening":
			squall.URL = "http://" + line.Address + upstream.Path
		case "admin listening":
			squall.admin = "http://" + line.Address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	t.Cleanup(func() {
		for _, fault := range squall.Faults() {
			t.Logf("squall injected %s (%s) into %s at %s", fault.Fault, fault.Effect, fault.Tool, fault.At)
		}
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	if squall.admin == "" {
		t.Fatalf("%s did not start", strings.Join(words, " "))
	}
	return squall
}

// SetRules replaces all rules with the text of a rules file, and returns when they are active. Unchanged
// rules keep their counts.
func (s *Squall) SetRules(text string) {
	s.t.Helper()
	data := []byte(text)
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	check(s.t, os.WriteFile(s.rules+".new", data, 0o600))
	check(s.t, os.Rename(s.rules+".new", s.rules))
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var state struct {
			Rules      struct{ Digest string }
			LastReload struct {
				Result, Digest string
				Problems       []struct {
					Line    int
					Message string
				}
			}
		}
		s.read("/api/state", &state)
		if state.Rules.Digest == digest {
			return
		}
		if last := state.LastReload; last.Digest == digest && last.Result == "rejected" {
			s.t.Fatalf("Squall rejected the rules: %+v", last.Problems)
		}
	}
	s.t.Fatal("Squall did not read the rules")
}

// Faults returns the last 200 injected faults, the newest first.
func (s *Squall) Faults() []Fault {
	var found struct{ Faults []Fault }
	s.read("/api/injections", &found)
	return found.Faults
}

func (s *Squall) read(path string, value any) {
	s.t.Helper()
	response, err := http.Get(s.admin + path)
	check(s.t, err)
	defer response.Body.Close()
	check(s.t, json.NewDecoder(response.Body).Decode(value))
}

// callTool is a placeholder for the code under test.
func callTool(t *testing.T, url, name string, tries int) int {
	t.Helper()
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call",
		"params":{"name":%q,"arguments":{"query":"refunds"}}}`, name)
	status := 0
	for ; tries > 0 && status != http.StatusOK; tries-- {
		request, err := http.NewRequest(http.MethodPost, url, bytes.NewBufferString(call))
		check(t, err)
		request.Header.Set("content-type", "application/json")
		request.Header.Set("accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(request)
		check(t, err)
		response.Body.Close()
		status = response.StatusCode
	}
	return status
}

const down = `rules:
  - name: down
    match: { tool: search_docs }
    times: 2
    faults: [abort: { status: 503 }]`

func TestACallIsMadeAgainAfterA503(t *testing.T) {
	squall := StartSquall(t)
	squall.SetRules(down)
	if status := callTool(t, squall.URL, "search_docs", 3); status != http.StatusOK {
		t.Errorf("the call ended with %d", status)
	}
	faults := squall.Faults()
	if len(faults) != 2 || faults[0].Tool != "search_docs" || faults[0].Effect != "status 503" {
		t.Errorf("injected: %+v", faults)
	}
}

func TestAfterTwoFailuresTheCallFails(t *testing.T) {
	squall := StartSquall(t)
	squall.SetRules(down)
	if status := callTool(t, squall.URL, "search_docs", 2); status != http.StatusServiceUnavailable {
		t.Errorf("the call ended with %d", status)
	}
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
