package strict_test

import (
	"fmt"

	"bench/sweep/strict"
)

func Example() {
	text := "name = \"chat\"\n\n[[row]]\nname = \"B-long\"\nratee = 3\nconcurrency = [1, \"2\"]\n"
	doc, err := strict.Parse("chat.toml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	var matrix struct {
		Name string `toml:"name"`
		Rows []struct {
			Name        string  `toml:"name"`
			Rate        float64 `toml:"rate"`
			Concurrency []int   `toml:"concurrency"`
		} `toml:"row"`
	}
	var problems strict.Problems
	strict.Decode(doc.Root, &matrix, func(path, text, hint string) { problems = append(problems, doc.Problem(path, text, hint)) })
	fmt.Println(problems)
	// Output:
	// error: chat.toml:5:1: row "B-long": unknown key "ratee"
	//     5 | ratee = 3
	//       | ^^^^^
	// hint: did you mean "rate"?
	//
	// error: chat.toml:6:19: row "B-long": concurrency[1] must be an integer, not the string "2"
	//     6 | concurrency = [1, "2"]
	//       |                   ^^^
	// hint: write 2
}
