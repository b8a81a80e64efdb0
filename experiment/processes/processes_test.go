package processes

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	for text, want := range map[string]Stat{
		"7 (vllm) S 5 6 7 0 -1":      {"vllm", 5, 6, 7},
		"7 (a) b (c) (x)) R 1 2 3 4": {"a) b (c) (x)", 1, 2, 3},
		"7 () S 1 2 3":               {"", 1, 2, 3},
	} {
		if got, ok := parseStat([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, text := range []string{"", "7", "7 (x", "7 )x(", "7 (x) S 1 2", "7 (x) S a 2 3"} {
		if got, ok := parseStat([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzProc(f *testing.F) {
	f.Add("7 (a) b) S 5 6 7 0 -1")
	f.Add("  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 0 100 0 0 10 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		parseStat([]byte(text))
		addListening(map[string]bool{}, strings.NewReader(text), 8080)
	})
}

func TestListening(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "self/net"), 0o755))
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := "   0: 0100007F:%s 00000000:0000 %s 00000000:00000000 00:00000000 00000000  0 0 %d 1 0 100 0 0 10 0\n"
	must(t, os.WriteFile(filepath.Join(root, "self/net/tcp"), []byte(head+fmt.Sprintf(line, "1F90", "0A", 4711)+fmt.Sprintf(line, "1F90", "01", 4712)+fmt.Sprintf(line, "1F91", "0A", 4713)), 0o644))
	for _, pid := range []int{10, 11, 12} {
		must(t, os.MkdirAll(filepath.Join(root, strconv.Itoa(pid), "fd"), 0o755))
	}
	must(t, os.Symlink("socket:[4711]", filepath.Join(root, "10/fd/3")))
	must(t, os.Symlink("socket:[4712]", filepath.Join(root, "11/fd/3")))
	if got := Root(root).Owners(8080); !slices.Equal(got, []int{10}) {
		t.Errorf("owners %v", got)
	}
	if got := Root(root).Owners(8082); got != nil {
		t.Errorf("owners %v of a port without a listener", got)
	}
}

func TestSystem(t *testing.T) {
	if _, err := os.Stat(string(System)); err != nil {
		t.Skip("no /proc")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	if got := System.Owners(l.Addr().(*net.TCPAddr).Port); !slices.Equal(got, []int{os.Getpid()}) {
		t.Errorf("%v listen, this is %d", got, os.Getpid())
	}
	if s, ok := System.Stat(os.Getpid()); !ok || s.Parent != os.Getppid() {
		t.Errorf("%+v, the parent is %d", s, os.Getppid())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
