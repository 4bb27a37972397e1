#!/usr/bin/env python3
"""Writes rules.tsv from the rule set of gitleaks (MIT, see LICENSE).

  update.py VERSION      for example v8.30.1; it needs Go and Python 3.11

Taken are the rules that know a secret by its own shape. Those that need a name
and an "=" before it are not: rules.go has one of these for all vendors.
"""
import json
import pathlib
import subprocess
import sys
import tomllib

# What else is left out, and why.
LEFT_OUT = {
    "private-key": "rules.go knows keys over several lines and cut ones",
    "jwt": "rules.go",
    "curl-auth-header": "rules.go",
    "curl-auth-user": "rules.go",
    "sourcegraph-access-token": "takes every git hash for one",
    "vault-service-token": "takes s. and a word for one; rules.go has the new form",
    "twilio-api-key": "has no boundary; rules.go",
    "kubernetes-secret-yaml": "a whole manifest; rules.go has names with their values",
    "nuget-config-password": "not of a training",
    "freemius-secret-key": "not of a training",
}

# Where a secret must end is another thing in a log than in source code.
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""

version = sys.argv[1]
got = subprocess.run(
    ["go", "mod", "download", "-json", "github.com/zricethezav/gitleaks/v8@" + version],
    check=True, capture_output=True, cwd="/",
)
rules = tomllib.loads(pathlib.Path(json.loads(got.stdout)["Dir"], "config", "gitleaks.toml").read_text())["rules"]

out = [f"# Written by update.py from gitleaks {version}. Copyright (c) 2019 Zachary Rice, MIT (LICENSE).",
       "# name, words of which one is there, least entropy, expression"]
for r in rules:
    expr, words = r.get("regex", ""), r.get("keywords", [])
    if not expr or not words or r["id"] in LEFT_OUT or "(?:=|>|:{1,3}=" in expr:
        continue
    expr = expr.removesuffix(END)
    assert not set("\t\n") & set(expr) and not any("," in w for w in words), r["id"]
    out.append("\t".join([r["id"], ",".join(words), str(r.get("entropy", 0)), expr]))
pathlib.Path(__file__).with_name("rules.tsv").write_text("\n".join(out) + "\n")
