# Completion of backtrail for fish. To have it in every shell:
#   backtrail completion fish > ~/.config/fish/completions/backtrail.fish

function __backtrail_candidates
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l found (command backtrail __complete $words "$current" 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end

# Nothing but these; in the order in which they come: newest first.
complete -c backtrail -e
complete -c backtrail -f -k -a '(__backtrail_candidates)'
