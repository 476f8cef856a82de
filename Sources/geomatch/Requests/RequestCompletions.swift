import ArgumentParser
import Foundation
import Wire

/// Completion of requests: resources, verbs and parameters of the table, which the argument parser knows nothing of.
enum RequestCompletions {
    /// The script for a shell, with requests; nil where the arguments ask for none, or for an unknown shell.
    static func asked(for arguments: [String]) -> String? {
        let option = "--generate-completion-script"
        let name: String? =
            if arguments.first == option, arguments.count == 2 {
                arguments[1]
            } else if arguments.count == 1, arguments[0].hasPrefix(option + "=") {
                String(arguments[0].dropFirst(option.count + 1))
            } else {
                nil
            }
        guard let name, let shell = CompletionShell(rawValue: name) else { return nil }
        let script = Geomatch.completionScript(for: shell)
        return switch shell {
        case .bash: script + "\n\n" + words + bash
        case .zsh: zsh(script)
        case .fish: script + "\n\n" + fish
        default: script
        }
    }

    /// What may follow the words behind `geomatch`: none, a resource, a resource and a verb.
    private static var offers: [(words: String, offers: String)] {
        let all = RequestCatalogue.all
        var resources: [String] = []
        for request in all where !resources.contains(String(request.resource)) { resources.append(String(request.resource)) }
        var offers = [("", resources.joined(separator: " "))]
        for resource in resources {
            offers.append((resource, all.filter { $0.resource == resource }.map { String($0.verb) }.joined(separator: " ")))
        }
        return offers + all.map { ($0.name, $0.fields.map { $0.name + "=" }.joined(separator: " ")) }
    }

    /// For bash and zsh.
    private static var words: String {
        let options = ConnectionOptions.names.joined(separator: "|")
        let cases = offers.map { "    '\($0.words)') offers='\($0.offers)' ;;" }.joined(separator: "\n")
        return """
            # Requests. Arguments: the words before the one that is completed.
            __geomatch_request_words() {
                local word skip='' route='' count=0
                for word in "$@"; do
                    if [[ -n "$skip" ]]; then skip=''; continue; fi
                    case "$word" in
                    \(options)) skip=1 ;;
                    -*) ;;
                    request) [[ $count -eq 0 ]] || count=$((count + 1)) ;;
                    *) [[ $count -ge 2 ]] || route="$route${route:+/}$word"; count=$((count + 1)) ;;
                    esac
                done
                offers='' behind="$route"
                [[ -z "$skip" ]] || return 0
                case "$route" in
            \(cases)
                esac
            }


            """
    }

    private static let bash = """
        _geomatch_or_request() {
            local offers behind
            _geomatch "$@"
            __geomatch_request_words "${COMP_WORDS[@]:1:COMP_CWORD-1}"
            [[ -n "$offers" && "$2" != -* ]] || return 0
            # Behind a resource that is no subcommand, subcommands were offered.
            [[ "$behind" == '' || "$behind" == geofence ]] || COMPREPLY=()
            COMPREPLY+=($(compgen -W "$offers" -- "$2"))
            [[ "$offers" != *= ]] || compopt -o nospace 2>/dev/null
        }

        complete -o filenames -F _geomatch_or_request geomatch

        """

    /// An autoloaded function is its file: what the file does at its end is what a completion does.
    private static func zsh(_ script: String) -> String {
        let end = "if [[ \"${funcstack[1]}\" = _geomatch ]]; then"
        guard let place = script.range(of: end, options: .backwards) else { return script }
        return script[..<place.lowerBound] + words + """
            _geomatch_or_request() {
                local offers behind ret=1
                __geomatch_request_words "${(@)words[2,CURRENT-1]}"
                if [[ -n "$offers" && "${words[CURRENT]}" != -* ]]; then
                    if [[ "$offers" == *= ]]; then compadd -S '' -- ${=offers} && ret=0; else compadd -- ${=offers} && ret=0; fi
                    [[ "$behind" == '' || "$behind" == geofence ]] || return $ret
                fi
                _geomatch "$@" && ret=0
                return $ret
            }

            if [[ "${funcstack[1]}" = _geomatch ]]; then
                _geomatch_or_request "${@}"
            else
                compdef _geomatch_or_request geomatch
            fi

            """
    }

    private static var fish: String {
        let lines = offers.map { "complete -c geomatch -f -n '__geomatch_behind \"\($0.words)\"' -a '\($0.offers)'" }
        return """
            function __geomatch_behind -a path
                set -l skip 0
                set -l bare
                for word in (commandline -opc)[2..]
                    if test $skip = 1
                        set skip 0
                        continue
                    end
                    switch $word
                        case \(ConnectionOptions.names.joined(separator: " "))
                            set skip 1
                        case '-*'
                        case '*'
                            set -a bare $word
                    end
                end
                test "$bare[1]" = request; and set -e bare[1]
                set -l joined (string join / $bare[1..2])
                test $skip = 0 -a "$joined" = "$path"
            end

            \(lines.joined(separator: "\n"))

            """
    }
}
