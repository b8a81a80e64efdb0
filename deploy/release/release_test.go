package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An archive depends on its files alone, not on their order, on the time or on the user who makes it.
func TestTarred(t *testing.T) {
	files := []file{{name: "b/bench", text: []byte("x"), mode: 0o755}, {name: "a/", mode: 0o1777, owner: user}}
	first, err := tarGzip(files)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	if again, _ := tarGzip(files); !bytes.Equal(first, again) {
		t.Error("the order of files changes the archive")
	}
	plain, err := tarred(files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %d:%d %q %d", h.Name, h.Mode, h.Uid, h.Gid, h.Uname, h.ModTime.Year()))
	}
	if want := []string{`a/ 1777 65532:65532 "" 2000`, `b/bench 755 0:0 "" 2000`}; !slices.Equal(got, want) {
		t.Errorf("entries %q, want %q", got, want)
	}
}

// The Dockerfile names files that the image has, and a user who may write to its folder and is not root.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	get := func(pattern string) string {
		found := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("no %s", pattern)
		}
		return found[1]
	}
	if base := get(`FROM (.*)`); base != "scratch" {
		t.Errorf("the base is %s", base)
	}
	if got, want := get(`USER (.*)`), fmt.Sprintf("%d:%d", user, user); got != want {
		t.Errorf("the user is %s, want %s", got, want)
	}
	owners := map[string]int{}
	for _, f := range imageFiles(file{name: "bench", mode: 0o755}, []file{{name: "LICENSE"}}) {
		owners["/"+strings.TrimSuffix(f.name, "/")] = f.owner
	}
	if owner, exists := owners[get(`ENTRYPOINT \["(.*)"\]`)]; !exists || owner != 0 {
		t.Error("the entry point is not in the image, or its user can change it")
	}
	if owner := owners[get(`WORKDIR (.*)`)]; owner != user {
		t.Errorf("the home folder is of user %d", owner)
	}
	if !strings.Contains(get(`ADD (.*)`), "image-linux-${TARGETARCH}.tar") {
		t.Error("the archive is not the one that writePlatform names")
	}
}

// The SBOM states the versions of the chart bundle that make echarts bundles.
func TestBundled(t *testing.T) {
	makefile, err1 := os.ReadFile("../../Makefile")
	script, err2 := os.ReadFile("../../report/page/assets/echarts.min.js")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	version := bundled[0].Version
	if !strings.Contains(string(makefile), "echarts@"+version+" ") || !strings.Contains(string(script), `"`+version+`"`) {
		t.Errorf("echarts %s is not what make echarts bundles", version)
	}
}
