import NotifyYAML

extension Node {
    /// The text of a count, size or duration: a YAML string, or a number if the value has no unit. Nil for any other
    /// type.
    var quantity: String? {
        switch tag {
        case .str, .float: string
        // YAML reads `010` and `1:30` as 8 and 90. They remain as written here, so that the caller refuses them.
        case .int: string.flatMap { $0.isAmbiguous ? $0 : int.map(String.init) }
        default: nil
        }
    }
}

extension String {
    /// Whether a YAML integer is octal because of a leading 0, or in base 60.
    fileprivate var isAmbiguous: Bool { contains(":") || (count > 1 && first == "0" && allSatisfy(\.isNumber)) }
}

extension Node.Scalar {
    /// The beginning of the text as written in the file, for an error message.
    var asWritten: String { style == .plain ? string.excerpt : "\"\(string.excerpt)\"" }
}
