package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"bench/internal/packed"
)

// release is the version of this tree, as in CHANGELOG.md. A tag has the same name.
const release = "v0.1.0-dev"

// stamp is the commit, with "+changes" if the tree had some: the linker sets it (Makefile). Empty: not set.
var stamp string

func newVersion(c *cli) *cobra.Command {
	var withLicenses bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "print the version of bench and of Go",
		Example: "  bench version\n  bench version --licenses  # of every library in this program",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := versionText() + "\n"
			if withLicenses {
				text += "\n" + packed.Text(licenses)
			}
			_, err := fmt.Fprint(c.stdout, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&withLicenses, "licenses", false, "print the licenses of bench and of its libraries, too")
	return cmd
}

func versionText() string {
	v, commit := version()
	if commit != "" {
		v += " (" + commit + ")"
	}
	return "bench " + v + ", " + buildInfo().GoVersion
}

// version returns the version of this binary and the commit that it was built from. Empty: not recorded.
func version() (v, commit string) { return versionOf(buildInfo(), stamp) }

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{GoVersion: "unknown Go"}
}

var (
	tagged = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	// pseudo is a version that Go makes of a commit without a tag.
	pseudo = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})$`)
)

// versionOf prefers the tag that Go built, as in go install MODULE/cmd/bench@v1.2.3, to the version in the source.
func versionOf(info *debug.BuildInfo, stamp string) (v, commit string) {
	v = release
	main := strings.TrimSuffix(info.Main.Version, "+dirty")
	if untagged := pseudo.FindStringSubmatch(main); untagged != nil {
		commit = untagged[1]
	} else if tagged.MatchString(main) {
		v = main
	}
	changes := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changes = "+changes"
		}
	}
	if stamp != "" {
		return v, stamp
	}
	if commit != "" {
		commit += changes
	}
	return v, commit
}

// licenses has the license texts of everything that is linked into bench, ECharts included. TestLicenses keeps it
// complete: make licenses writes it anew, and licenses.txt, the same text for releases.
//
//go:embed licenses.txt.gz
var licenses []byte
