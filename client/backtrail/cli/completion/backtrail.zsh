#compdef backtrail
# Completion of backtrail for zsh. To have it in every shell, put it into a folder of $fpath:
#   backtrail completion zsh > ~/.zsh/completions/_backtrail
# or, in ~/.zshrc after compinit:
#   source <(backtrail completion zsh)

_backtrail() {
    local line value
    local -a before described
    (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
    for line in "${(@f)$(command backtrail __complete "$before[@]" "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        value=${line%%$'\t'*}
        # A colon separates value and description, so one in the value is escaped.
        described+=("${value//:/\\:}:${${line#"$value"}#$'\t'}")
    done
    if (( $#described )); then
        # In the order in which they came: newest first.
        _describe -V backtrail described
    else
        _files
    fi
}

if [[ $funcstack[1] == _backtrail ]]; then
    _backtrail "$@"
else
    compdef _backtrail backtrail
fi
