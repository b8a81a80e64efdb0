package openai

import (
	"bytes"
	"slices"
)

// Extend appends the body of a conversation's next turn to dst. before is the body of the turn before, as
// Body or Extend made it for a nil dst; answer is the server's answer to it; prompt is what the new turn
// adds. In the chat API they become messages with their roles; in the other one prompt, as text or token ids.
func (e *Encoder) Extend(dst, before []byte, answer *Answer, prompt Prompt, output int) []byte {
	dst = slices.Grow(dst, len(before)+len(answer.Text)+len(prompt.Text)+7*(len(answer.IDs)+len(prompt.IDs))+80)
	dst = e.begin(dst, output)
	key := keyPrompt
	if e.params.API == Chat {
		key = keyMessages
	}
	own := before[len(e.head):]
	dst = append(dst, own[bytes.Index(own, []byte(key)):len(own)-len(`]}`)]...) // without the end of the list or string
	switch {
	case e.params.API == Chat:
		dst = append(append(append(dst, `,{"role":"assistant","content":"`...), answer.Text...), `"},`...)
		return append(appendMessage(dst, prompt.Text), "]}"...)
	case prompt.IDs != nil:
		return append(appendIDs(appendIDs(dst, answer.IDs), prompt.IDs), "]}"...)
	}
	dst = append(append(dst, answer.Text...), jsonEscape(prompt.Text)...)
	return append(dst, `"}`...)
}

func appendMessage(dst []byte, text string) []byte {
	return append(appendString(append(dst, `{"role":"user","content":`...), text), '}')
}
