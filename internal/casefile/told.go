package casefile

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

const maxTold = 50 // texts of facts that are read as lines

// readFacts lets the signs see the error texts that stand in exported resources
// (a describe in YAML): their files are facts, not logs, and nothing else reads
// what they say.
func (f *File) readFacts(facts []run.Fact) {
	streams := map[string]bool{}
	for _, s := range f.Streams {
		streams[s.Name] = true
	}
	told := 0
	for _, v := range facts {
		if told >= maxTold || streams[v.From.File] || len(v.Value) < 20 || !tellsError(v.Key) {
			continue
		}
		told++
		f.readFact(v)
	}
}

// tellsError reports whether a key names an error's text.
func tellsError(key string) bool {
	last := strings.ToLower(key[strings.LastIndexByte(key, '.')+1:])
	for _, w := range []string{"message", "error", "reason", "failurereason", "statusmessage", "details"} {
		if strings.HasSuffix(last, w) {
			return true
		}
	}
	return false
}

func (f *File) readFact(v run.Fact) {
	s := &Stream{Name: v.From.File, Kind: "json", Rank: run.NoRank, Readers: map[int]*RankReader{}}
	for _, sign := range f.matcher.signs {
		if !sign.applies(s.Kind) || sign.Frames != nil {
			continue
		}
		groups, ok := sign.Match([]byte(v.Value))
		if !ok {
			continue
		}
		for key, value := range sign.Sets {
			if x := expand(value, groups); x != "" {
				f.AddFact(run.Fact{Key: key, Value: x, From: v.From})
			}
		}
		f.Events = append(f.Events, &Event{
			Sign: sign, Stream: s, Rank: run.NoRank, Ref: v.From, LastRef: v.From, Text: clip(v.Value, maxText), Groups: groups, Step: -1, Count: 1,
		})
	}
}

// expand is a value to set, or the group that "$name" stands for.
func expand(value string, groups map[string]string) string {
	if name, ok := strings.CutPrefix(value, "$"); ok {
		return groups[name]
	}
	return value
}
