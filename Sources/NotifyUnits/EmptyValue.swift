/// The form `--option=`, an option with an empty value. The parser of arguments would take the next argument as the
/// value.
package enum EmptyValue {
    /// The option of an argument such as `--object=` or `-c=`; nil for other arguments.
    package static func option(of argument: String) -> String? {
        guard argument.hasPrefix("-"), argument.hasSuffix("="), !argument.dropLast().contains("=") else { return nil }
        return String(argument.dropLast())
    }
}
