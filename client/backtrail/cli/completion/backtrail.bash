# Completion of backtrail for bash. To have it in every shell:
#   backtrail completion bash > ~/.local/share/bash-completion/completions/backtrail
# or, in ~/.bashrc:
#   source <(backtrail completion bash)

_backtrail() {
    local rest=${COMP_LINE:0:COMP_POINT}
    local stripped word index
    local -a words=()
    # Bash also splits words at : = @, but 42:src/app.py and --color=never are one word each. What follows the
    # piece before it without a space belongs to it.
    for ((index = 0; index <= COMP_CWORD; index++)); do
        stripped=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[index]}
        ((index == COMP_CWORD)) && word=$stripped
        if ((index > 0)) && [[ $rest == "$stripped" ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${stripped#"$word"}
    done

    # What bash has split off already must not be given to it again.
    local current=${words[${#words[@]} - 1]} breaks=${COMP_WORDBREAKS//[!:=@]/} given=""
    [[ -n $breaks ]] && given=${current%"${current##*[$breaks]}"}
    local value description
    COMPREPLY=()
    while IFS=$'\t' read -r value description; do
        if [[ -n $value && $value == "$current"* ]]; then
            value=${value#"$given"}
            [[ $value == *[!A-Za-z0-9_./:=@~,+-]* ]] && printf -v value %q "$value"
            COMPREPLY+=("$value")
        fi
    done < <(command backtrail __complete "${words[@]:1}" 2>/dev/null)
}

# Where backtrail knows nothing, file names are completed; the order is its own (newest first).
if ((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4)); then
    complete -o nosort -o bashdefault -o default -F _backtrail backtrail
else
    complete -o bashdefault -o default -F _backtrail backtrail
fi
