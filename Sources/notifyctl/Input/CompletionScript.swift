/// The parser's completion scripts complete nothing after `help`. Adds the completion of commands there.
enum CompletionScript {
    struct Command {
        var name: String
        var subcommands: [String]
    }

    /// The script with completions of commands and subcommands after `help`. A script of unknown form is unchanged.
    static func completed(_ script: String, commands: [Command]) -> String {
        let names = commands.map(\.name)
        let groups = commands.filter { !$0.subcommands.isEmpty }
        if let function = script.range(of: "\n_notifyctl_help() {\n") {
            let body = function.upperBound..<script.endIndex
            if let end = script.range(of: "    __notifyctl_offer_flags_options -1\n", in: body) {
                let cases = [bashCase("1:*", names)] + groups.map { bashCase("2:\($0.name)", $0.subcommands) }
                let completion = "    case \"${positional_number}:${prev}\" in\n\(cases.joined())    esac\n"
                return script[..<end.upperBound] + completion + script[end.upperBound...]
            }
            if let argument = script.range(of: "'*:subcommands:'", in: body) {
                let cases = groups.map { "\($0.name)) compadd \"$expl[@]\" - \(words($0.subcommands)) ;; " }
                return script[..<argument.lowerBound] + "'1:command:(\(words(names)))'\n        "
                    + "'2:subcommand:{case \"$line[1]\" in \(cases.joined())esac}'\n        '*:subcommands:'"
                    + script[argument.upperBound...]
            }
        }
        guard script.contains("function __notifyctl_should_offer_completions_for_positional ") else { return script }
        let lines = groups.map { group in
            fishLine("-eq 2; and test (__notifyctl_tokens -pc)[-1] = \(group.name)", group.subcommands)
        }
        // The script ends without a newline.
        return script + "\n" + ([fishLine("-eq 1", names)] + lines).joined(separator: "\n")
    }

    private static func words(_ words: [String]) -> String { words.joined(separator: " ") }

    private static func bashCase(_ pattern: String, _ words: [String]) -> String {
        """
            \(pattern))
                __notifyctl_add_completions -W '\(words.joined(separator: "'$'\\n''"))'
                ;;

        """
    }

    private static func fishLine(_ condition: String, _ completions: [String]) -> String {
        let function = #"__notifyctl_should_offer_completions_for_positional "notifyctl help""#
        return "complete -c 'notifyctl' -n '\(function) \(condition)' -fka '\(words(completions))'"
    }
}

extension String {
    /// The first occurrence of a text.
    fileprivate func range(of text: String, in range: Range<Index>? = nil) -> Range<Index>? {
        self[range ?? startIndex..<endIndex].firstRange(of: text)
    }
}
