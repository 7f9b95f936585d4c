/// The completion scripts of the parser, which do not complete the commands after `help`.
enum CompletionScript {
    /// The script with the commands after `help`; unchanged if it is none of the known scripts.
    static func completed(_ script: String, commands: [String]) -> String {
        let words = commands.joined(separator: " ")
        if let function = script.range(of: "\n_notifyctl_help() {\n") {
            let body = function.upperBound..<script.endIndex
            if let end = script.range(of: "    __notifyctl_offer_flags_options -1\n", in: body) {
                let completion = """
                        if [[ "${positional_number}" -eq 1 ]]; then
                            __notifyctl_add_completions -W '\(commands.joined(separator: "'$'\\n''"))'
                        fi

                    """
                return script[..<end.upperBound] + completion + script[end.upperBound...]
            }
            if let argument = script.range(of: "'*:subcommands:'", in: body) {
                return script[..<argument.lowerBound] + "'1:command:(\(words))'\n        '*:subcommands:'"
                    + script[argument.upperBound...]
            }
        }
        guard script.contains("function __notifyctl_should_offer_completions_for_positional ") else { return script }
        let condition = #"__notifyctl_should_offer_completions_for_positional "notifyctl help" -eq 1"#
        return script + "complete -c 'notifyctl' -n '\(condition)' -fka '\(words)'\n"
    }
}

extension String {
    /// The first occurrence of a text.
    fileprivate func range(of text: String, in range: Range<Index>? = nil) -> Range<Index>? {
        self[range ?? startIndex..<endIndex].firstRange(of: text)
    }
}
