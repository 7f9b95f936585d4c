import NotifyUnits

extension EmptyValue {
    /// The arguments, with each option that has an empty value (`--option=`) split into two arguments: the option, and
    /// the empty value. Flags, and all arguments after `--`, are unchanged.
    ///
    /// - Parameter help: The help of the command, which lists its options.
    static func separated(_ arguments: [String], help: @autoclosure () -> String) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        guard arguments[..<end].contains(where: { option(of: $0) != nil }) else { return arguments }
        let options = optionsWithValue(help())
        let separated = arguments[..<end].flatMap { argument in
            guard let option = option(of: argument), options.contains(option) else { return [argument] }
            return [option, ""]
        }
        return separated + arguments[end...]
    }

    /// The names of the options with a value, from lines of the help such as `-c, --count <number>`.
    private static func optionsWithValue(_ help: String) -> Set<String> {
        var options: Set<String> = []
        for line in help.split(separator: "\n") {
            let words = line.split { " ,".contains($0) }
            let names = words.prefix { $0.hasPrefix("-") }
            if words.dropFirst(names.count).first?.hasPrefix("<") == true { options.formUnion(names.map(String.init)) }
        }
        return options
    }
}
