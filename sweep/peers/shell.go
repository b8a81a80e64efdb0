package peers

import (
	"errors"
	"maps"
	"strings"

	"bench/experiment/text"
)

// prompt is what pages print before a command and its continuation lines: "$ ", and ">" before a flag.
var (
	promptLine   = text.Lazy(`(?m)^[ \t]*(?:\$[ \t]*|>[ \t]*(-))`)
	assignment   = text.Lazy(`^([A-Za-z_][A-Za-z0-9_]*)=((?s:.*))$`)
	variableName = text.Lazy(`^(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*(?::?-[^}]*)?\})`)
)

// split cuts a text into commands and their words, as a shell does: quotes, backslashes, comments, variables that the
// text itself sets. A line that begins with a dash continues the line before it, whose backslash was lost in copying.
func split(text string) (commands [][]string, variables map[string]string, err error) {
	text = promptLine().ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "$1")
	s := &splitter{rest: text, variables: map[string]string{}}
	for s.rest != "" && err == nil {
		err = s.next()
	}
	if s.inQuotes && err == nil {
		err = errQuote
	}
	s.endCommand()
	return s.commands, s.variables, err
}

// OneCommand are the words of a command, split as a shell does.
func OneCommand(text string) ([]string, error) {
	commands, _, err := split(text)
	if err == nil && len(commands) != 1 {
		err = errors.New("not one command\nhint: write sh -c '…' for a pipe or several commands")
	}
	if err != nil {
		return nil, err
	}
	return commands[0], nil
}

type splitter struct {
	rest      string
	word      strings.Builder
	inWord    bool // also in an empty word: ''
	inQuotes  bool // double ones
	words     []string
	commands  [][]string
	variables map[string]string
	expanded  int // bytes that variables have inserted: each can double what another has
}

func (s *splitter) next() error {
	c := s.rest[0]
	s.rest = s.rest[1:]
	switch {
	case c == '"':
		s.inWord, s.inQuotes = true, !s.inQuotes
	case c == '$' && (s.inQuotes || !strings.HasPrefix(s.rest, "'")):
		return s.variable()
	case s.inQuotes && (c != '\\' || s.rest == "" || strings.IndexByte("\n\"\\$`", s.rest[0]) < 0):
		s.word.WriteByte(c)
	case c == '\n' && continues(s.rest):
		s.endWord()
	case strings.IndexByte("\n;|&", c) >= 0:
		s.endCommand()
	case c == ' ' || c == '\t':
		s.endWord()
	case c == '#' && !s.inWord:
		_, s.rest, _ = strings.Cut(s.rest, "\n")
		if !continues(s.rest) {
			s.endCommand()
		}
	case c == '\\':
		s.backslash()
	case c == '\'':
		inside, rest, found := strings.Cut(s.rest, "'")
		if !found {
			return errQuote
		}
		s.put(inside)
		s.rest = rest
	case c == '$': // before a quote
	default:
		s.put(string(c))
	}
	return nil
}

// continues reports whether the next line belongs to the command: it begins with a flag.
func continues(rest string) bool { return strings.HasPrefix(strings.TrimLeft(rest, " \t"), "-") }

func (s *splitter) put(text string) {
	s.inWord = true
	s.word.WriteString(text)
}

// backslash joins lines; blanks behind it, which end the command in a shell, are a slip of a page.
func (s *splitter) backslash() {
	if s.inQuotes && s.rest[0] == '\n' {
		s.rest = s.rest[1:]
		return
	}
	if rest, found := strings.CutPrefix(strings.TrimLeft(s.rest, " \t"), "\n"); found && !s.inQuotes {
		s.endWord()
		s.rest = rest
		return
	}
	if s.rest != "" {
		s.put(s.rest[:1])
		s.rest = s.rest[1:]
	}
}

var errQuote = errors.New("a quote in the command is not closed\n" +
	"hint: quote the whole command by ' and the inner texts by \"")

// variable inserts the value that the text itself gives to a variable, else the default in ${NAME:-default}; an
// unknown one stays as it is written.
func (s *splitter) variable() error {
	found := variableName().FindString(s.rest)
	name, fallback, hasDefault := strings.Cut(strings.Trim(found, "{}"), "-")
	value, known := s.variables[strings.TrimSuffix(name, ":")]
	s.rest = s.rest[len(found):]
	switch {
	case known:
		if s.expanded += len(value); s.expanded > most {
			return errLong
		}
		s.put(value)
	case hasDefault:
		s.put(fallback)
	default:
		s.put("$" + found)
	}
	return nil
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}

func (s *splitter) endCommand() {
	s.endWord()
	maps.Copy(s.variables, assignments(s.words))
	if len(s.words) > 3 && s.words[0] == "for" && s.words[2] == "in" { // a loop makes a series
		s.variables[s.words[1]] = strings.Join(s.words[3:], ",")
	}
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}

// assignments are the variables that words before a command set.
func assignments(words []string) map[string]string {
	set := map[string]string{}
	for _, word := range words {
		m := assignment().FindStringSubmatch(word)
		if m == nil && word != "export" && word != "env" {
			break
		}
		if m != nil {
			set[m[1]] = m[2]
		}
	}
	return set
}
