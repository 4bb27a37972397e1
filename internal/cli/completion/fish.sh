# fish completion of trainmedic
set -l commands {{range .}}{{.Name}} {{end}}
{{- range .}}
complete -c trainmedic -n "not __fish_seen_subcommand_from $commands" -f -a {{.Name}} -d {{quote .Doc}}
{{- end}}
{{- range $c := .}}{{range .Flags}}
complete -c trainmedic -n "__fish_seen_subcommand_from {{$c.Name}}" -l {{.Name}}{{if .Value}} -r{{end}} -d {{quote .Doc}}
{{- end}}{{end}}
