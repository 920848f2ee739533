package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// Call is a tool call that the scripted model requests, as in script.py.
type Call struct {
	Name   string
	Args   map[string]any
	values []string
}

var calls = []Call{
	{"search_trips", map[string]any{"to": "Lisbon"}, []string{"TR-48213", "4187.23"}},
	{"book_trip", map[string]any{"trip": "TR-48213", "price": 4187.23}, []string{"BK-771204", "confirmed", "4187.23"}},
	{"get_booking", map[string]any{"booking": "BK-771204"}, []string{"BK-771204", "confirmed", "4187.23"}},
}

var isError = regexp.MustCompile(`(?i)error|invalid|fail|unavailable`)
var isEmpty = regexp.MustCompile(`^(?:[\W_]*|null)$|"text":\s*""|"(?:content|value)":\s*(?:\[\]|null)`)

// Play requests each call and prints the result.
func Play(call func(Call) (any, error)) {
	for _, each := range calls {
		since := time.Now()
		result, err := call(each)
		bytes, _ := json.Marshal(result)
		text := string(bytes)
		if err != nil {
			text = "error: " + err.Error()
		}
		found := 0
		for _, value := range each.values {
			if strings.Contains(text, value) {
				found++
			}
		}
		switch {
		case isError.MatchString(text) || found == 0 && !isEmpty.MatchString(text):
			fmt.Fprintln(os.Stderr, "  "+text)
			fmt.Printf("%s error after %.1f s\n", each.Name, time.Since(since).Seconds())
		case found == len(each.values):
			fmt.Println(each.Name, "ok")
		default:
			fmt.Println(each.Name, "changed")
		}
	}
}
