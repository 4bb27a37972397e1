#compdef trainmedic
# zsh completion of trainmedic
_trainmedic() {
	local -a commands
	commands=(
{{- range .}}
		{{quote .Name}}:{{quote .Doc}}
{{- end}}
	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	local name=$words[2]
	shift words
	(( CURRENT-- ))
	case $name in
{{- range .}}
	{{.Name}})
		_arguments {{range .Flags}}{{if .Value}}{{quote "--" .Name "="}}{{else}}{{quote "--" .Name}}{{end}}'['{{quote .Doc}}']{{if .Value}}:{{.Value}}:_files{{end}}' {{end}}'*:target:_files'
		;;
{{- end}}
	esac
}
if [ "$funcstack[1]" = _trainmedic ]; then
	_trainmedic "$@"
else
	compdef _trainmedic trainmedic
fi
