import NotifyYAML

extension Node {
    /// The text of a size or duration: a YAML string, or an integer if the value has no unit. Nil for any other type.
    var quantity: String? {
        switch tag {
        case .str: string
        case .int: int.map(String.init)
        default: nil
        }
    }
}

extension Node.Scalar {
    /// The beginning of the text as written in the file, for an error message.
    var asWritten: String { style == .plain ? string.excerpt : "\"\(string.excerpt)\"" }
}
