// Prints a Compose file as `docker compose config --format json` does, by the library that it uses.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithProfiles([]string{"*"}))
	fail(err)
	project, err := options.LoadProject(context.Background())
	fail(err)
	fail(json.NewEncoder(os.Stdout).Encode(project))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
