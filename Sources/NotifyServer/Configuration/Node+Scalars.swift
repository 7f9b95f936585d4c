import Yams

extension Node {
    /// The name of the resolved tag: `5` is an integer, `"5"` in quotes is text.
    var tagName: Tag.Name { Tag.Name(rawValue: tag.description) }

    /// The text of a size or duration: a YAML string, or an integer if the value has no unit. Nil for any other type.
    var quantity: String? {
        switch tagName {
        case .str: string
        case .int: int.map(String.init)
        default: nil
        }
    }
}

extension Node.Scalar {
    /// The text as written in the file, for an error message.
    var asWritten: String { style == .plain ? string : "\"\(string)\"" }
}
