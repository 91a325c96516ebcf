package workspace

import (
	"strconv"
	"unicode/utf8"
)

// addRichText has no lengths of its own: rich text counts in the whole message.
func addRichText(f map[string]family) {
	style := anything()
	f["rich inline"] = family{
		"text":      fields(map[string]rule{"text": must(someText(1, 0)), "style": style}),
		"link":      fields(map[string]rule{"url": must(someText(1, 0)), "text": str(0), "unsafe": flag(), "style": style}),
		"user":      fields(map[string]rule{"user_id": must(someText(1, 0)), "style": style}),
		"usergroup": fields(map[string]rule{"usergroup_id": must(someText(1, 0)), "style": style}),
		"channel":   fields(map[string]rule{"channel_id": must(someText(1, 0)), "style": style}),
		"emoji":     fields(map[string]rule{"name": must(someText(1, 0)), "unicode": str(0), "skin_tone": anything(), "url": str(0), "style": style}),
		"broadcast": fields(map[string]rule{"range": must(enum("here", "channel", "everyone")), "style": style}),
		"color":     fields(map[string]rule{"value": must(str(0)), "style": style}),
		"date":      fields(map[string]rule{"timestamp": must(num(0, 0)), "format": must(str(0)), "url": str(0), "fallback": str(0), "style": style}),
		"team":      fields(map[string]rule{"team_id": must(str(0)), "style": style}),
	}
	section := fields(map[string]rule{"elements": must(list("rich inline", 0, 0))})
	f["rich section"] = family{"rich_text_section": section}
	f["rich text"] = family{
		"rich_text_section":      section,
		"rich_text_quote":        fields(map[string]rule{"elements": must(list("rich inline", 0, 0)), "border": num(0, 1)}),
		"rich_text_preformatted": fields(map[string]rule{"elements": must(list("rich inline", 0, 0)), "border": num(0, 1), "language": str(0)}),
		"rich_text_list": fields(map[string]rule{
			"elements": must(list("rich section", 0, 0)), "style": must(enum("bullet", "ordered")), "indent": num(0, 8), "offset": num(0, 0), "border": num(0, 1),
		}),
	}
	f["rich block"] = family{"rich_text": fields(map[string]rule{"elements": must(list("rich text", 0, 0)), "block_id": id()})}
}

func addTables(f map[string]family) {
	rich := fields(map[string]rule{"elements": must(list("rich text", 0, 0)), "block_id": id()})
	raw := fields(map[string]rule{"text": must(str(0))})
	number := fields(map[string]rule{"value": must(anything()), "text": str(0)})
	f["cell"] = family{"raw_text": raw, "raw_number": number, "rich_text": rich}
	f["head cell"] = family{"raw_text": raw, "raw_number": number}
	f["column"] = family{"": fields(map[string]rule{"align": enum("left", "center", "right"), "is_wrapped": flag()})}
}

const tableTextLimit = 10_000 // characters over all cells

func checkTable(v *validator, o obj, at string) {
	if v.tables++; v.tables > 1 {
		v.fail(at, "only_one_table_allowed")
	}
	v.rows(o, at, "cell", 1)
	settings, _ := o["column_settings"].([]any)
	for i, c := range settings {
		if c != nil { // null keeps a column's defaults
			v.member("column", c, at+"/column_settings/"+strconv.Itoa(i))
		}
	}
}

func checkDataTable(v *validator, o obj, at string) {
	width := v.rows(o, at, "head cell", 1)
	rows, _ := o["rows"].([]any)
	for i, r := range rows {
		if cells, _ := r.([]any); len(cells) != width {
			v.fail(at+"/rows/"+strconv.Itoa(i), "all rows must have the same number of cells")
			return
		}
	}
}

// rows checks every cell, the first row by its own family, and gives its width.
func (v *validator) rows(o obj, at, first string, least int) int {
	rows, _ := o["rows"].([]any)
	width, total := 0, 0
	for i, r := range rows {
		p := at + "/rows/" + strconv.Itoa(i)
		cells, ok := r.([]any)
		if !ok {
			v.fail(p, "must provide an array")
			continue
		}
		if i == 0 {
			width = len(cells)
		}
		v.length(len(cells), rule{min: least, max: 20}, p)
		name := "cell"
		if i == 0 {
			name = first
		}
		for j, c := range cells {
			v.member(name, c, p+"/"+strconv.Itoa(j))
			total += cellLength(c)
		}
	}
	if total > tableTextLimit {
		v.fail(at+"/rows", "must be less than %d characters", tableTextLimit+1)
	}
	return width
}

func cellLength(c any) int {
	o, _ := c.(obj)
	if o["type"] == "raw_text" {
		s, _ := o["text"].(string)
		return utf8.RuneCountInString(s)
	}
	return textLength(o)
}
