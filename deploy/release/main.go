// Command release builds what a release of bench consists of: for each platform an archive with the binary, manual
// page, completions and licenses, a list of its parts (SBOM, CycloneDX), for Linux the file system of an image, and
// SHA256SUMS. The same commit and Go give the same bytes in any folder, on any machine. Run it in the repository's
// root (make release).
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	out := flag.String("out", "dist", "`DIR` for the files, empty or new")
	commit := flag.String("commit", "", "`COMMIT` that bench version prints")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "`OS/ARCH,…` to build for")
	flag.Parse()
	if err := release(*out, *commit, strings.Split(*platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func release(out, commit string, platforms []string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if old, err := os.ReadDir(out); err != nil {
		return err
	} else if len(old) > 0 {
		return fmt.Errorf("%s is not empty\nhint: rm -r %s", out, out)
	}
	work, err := os.MkdirTemp("", "bench-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	host := runtime.GOOS + "/" + runtime.GOARCH
	binaries := map[string]string{}
	for _, p := range append([]string{host}, platforms...) {
		if binaries[p] == "" {
			if binaries[p], err = build(work, p, commit); err != nil {
				return err
			}
		}
	}
	version, err := versionOf(binaries[host])
	if err != nil {
		return err
	}
	papers, err := paperwork(binaries[host])
	if err != nil {
		return err
	}
	for _, p := range platforms {
		if err := writePlatform(out, version, p, binaries[p], papers); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return writeSums(out)
}

// writePlatform writes the files of one platform.
func writePlatform(out, version, platform, binary string, papers []file) error {
	system, arch, _ := strings.Cut(platform, "/")
	name := strings.Join([]string{"bench", version, system, arch}, "-")
	text, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	parts, err := sbom(binary, version)
	if err != nil {
		return err
	}
	bench := file{name: "bench", text: text, mode: 0o755}
	archive, err := tarGzip(below(name, append([]file{bench}, papers...)))
	if err != nil {
		return err
	}
	files := map[string][]byte{name + ".tar.gz": archive, name + ".cdx.json": parts}
	if system == "linux" {
		if files["image-linux-"+arch+".tar"], err = tarred(imageFiles(bench, papers)); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes what sha256sum -c reads.
func writeSums(out string) error {
	names, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	var sums strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.Base(name))
	}
	fmt.Print(sums.String())
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
