# bash completion of trainmedic
_trainmedic() {
	local word=${COMP_WORDS[COMP_CWORD]} flags=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W '{{range .}}{{.Name}} {{end}}' -- "$word"))
		return
	fi
	case ${COMP_WORDS[1]} in
{{- range .}}
	{{.Name}}) flags='{{range .Flags}}--{{.Name}} {{end}}' ;;
{{- end}}
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
	*) COMPREPLY=($(compgen -f -- "$word")) ;;
	esac
}
complete -o filenames -o bashdefault -F _trainmedic trainmedic
