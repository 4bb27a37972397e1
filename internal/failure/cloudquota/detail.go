package cloudquota

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	account    = regexp.MustCompile(`[\w.-]+@[\w.-]+\.[a-z]{2,}|arn:aws:(?:iam|sts)::[\w:/.-]+`)
	permission = regexp.MustCompile(`\b([a-z]\w+\.[a-zA-Z]\w+\.[a-zA-Z]\w+)['"]?\s+(?:permission\s+)?(?:access|denied|for)|perform: ([\w-]+:\w+)|Required ['"]([\w.]+)['"]`)
	object     = regexp.MustCompile(`on resource:? ['"]?(?://)?([^\s'",]+)|(?:repository|service account|service_account:?) ['"]?((?:projects/|[\w.-]+@)[^\s'",]+)|(gs://[^\s'",]+|s3://[^\s'",]+)`)
	metric     = regexp.MustCompile(`[Qq]uota ['"]([^'"]+)['"] exceeded|exceed quota limits:? ([\w./-]+)|quota metric ['"]([^'"]+)['"]|\b(custom_model_training_\w+)|\b(GPUS_ALL_REGIONS)`)
	limit      = regexp.MustCompile(`[Ll]imit: ?([\d.]+)|maximum of (\d+)`)
	region     = regexp.MustCompile(`in region:? ([a-z]+-[a-z]+\d+)`)
	zone       = regexp.MustCompile(`(?:in|zone) ['"]?(?:projects/\S+/zones/)?([a-z]+-[a-z]+\d+-[a-z])\b`)
	inName     = regexp.MustCompile(`/locations/([\w-]+)/`)
)

// first is what the first group of an expression that took part holds.
func first(re *regexp.Regexp, text string) string {
	m := re.FindStringSubmatch(text)
	for i := 1; i < len(m); i++ {
		if m[i] != "" {
			return run.Name(strings.TrimRight(m[i], ".:;)"))
		}
	}
	return ""
}

// lacks says who lacks which permission on what, as far as the refusal and the
// job tell.
func lacks(f *casefile.File, text string) string {
	on := first(object, text)
	who := ""
	for _, a := range account.FindAllString(text, -1) {
		if a = strings.TrimRight(a, "."); a != on {
			who = a
			break
		}
	}
	if who == "" {
		if who = cmp.Or(f.Value("vertex.service_account"), f.Value("cloud.service_account")); who != "" {
			who = run.Name(who)
		}
	}
	what := first(permission, text)
	if who == "none" {
		who = ""
	}
	switch {
	case what != "" && on != "" && who != "":
		return fmt.Sprintf("%s lacks %s on %s.", who, what, on)
	case what != "" && on != "":
		return fmt.Sprintf("What is missing is %s on %s.", what, on)
	case what != "" && who != "":
		return fmt.Sprintf("%s lacks %s.", who, what)
	case what != "":
		return fmt.Sprintf("What is missing is %s.", what)
	case on != "" && who != "":
		return fmt.Sprintf("The account is %s, the resource %s.", who, on)
	case on != "":
		return fmt.Sprintf("The resource is %s.", on)
	case who != "":
		return fmt.Sprintf("The account is %s.", who)
	}
	return ""
}

// standsFor says which account the caller may not use.
func standsFor(_ *casefile.File, text string) string {
	if a := strings.TrimRight(account.FindString(text), "."); a != "" {
		return "It is " + a + "."
	}
	return ""
}

// exceeds says which quota of which region is too small.
func exceeds(f *casefile.File, text string) string {
	name := first(metric, text)
	if name == "" {
		return ""
	}
	s := "The quota is " + name
	if l := first(limit, text); l != "" {
		s += ", its limit " + l
	}
	if r := regionOf(f, text); r != "" {
		s += ", the region " + r
	}
	return s + "."
}

// without says where what kind of machine was not to be had.
func without(f *casefile.File, text string) string {
	where, what := regionOf(f, text), f.Value("vertex.pool.0.machine_type")
	if what != "" {
		what = run.Name(what)
	}
	if n := f.Value("vertex.pool.0.accelerator"); n != "" {
		what += " with " + run.Name(n)
	}
	switch {
	case where != "" && what != "":
		return fmt.Sprintf("It asked for %s in %s.", what, where)
	case where != "":
		return fmt.Sprintf("The place is %s.", where)
	}
	return ""
}

// regionOf is the region or zone that the text names, else that of the job.
func regionOf(f *casefile.File, text string) string {
	r := cmp.Or(first(region, text), first(zone, text))
	if r == "" && f.Pipeline != nil {
		r = first(inName, f.Pipeline.Resource)
	}
	return r
}
