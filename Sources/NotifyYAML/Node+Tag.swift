extension Node {
    /// The type of a node.
    package enum Tag: Sendable, Equatable, Hashable {
        case null
        case bool
        case int
        case float
        case timestamp
        case str
        /// The type of the key `<<`.
        case merge
        /// The type of the key `=`.
        case value
        case seq
        case map
        /// Any other tag, in its long form.
        case other(String)

        private static let prefix = "tag:yaml.org,2002:"
        private static let names: [String: Tag] = [
            "null": .null, "bool": .bool, "int": .int, "float": .float, "timestamp": .timestamp, "str": .str,
            "merge": .merge, "value": .value, "seq": .seq, "map": .map,
        ]

        /// - Parameter written: The tag in its long form, such as `tag:yaml.org,2002:int`.
        init(written: String) {
            let name = written.hasPrefix(Self.prefix) ? String(written.dropFirst(Self.prefix.count)) : ""
            self = Self.names[name] ?? .other(written)
        }

        /// The type of a plain scalar without a tag, by the rules of YAML 1.1, except that `y` and `n` are text, `0o17`
        /// is an integer, and a float needs no point (`1e9`, `08`).
        init(ofPlain text: String) {
            self = Self.words[text] ?? Self.numberOrText(text)
        }

        private static let words: [String: Tag] = {
            var words: [String: Tag] = ["": .null, "~": .null, "<<": .merge, "=": .value]
            for word in ["null", "Null", "NULL"] { words[word] = .null }
            for word in ["yes", "no", "true", "false", "on", "off"] {
                for spelling in [word, word.prefix(1).uppercased() + word.dropFirst(), word.uppercased()] {
                    words[spelling] = .bool
                }
            }
            return words
        }()

        private static func numberOrText(_ text: String) -> Tag {
            if PlainForm.isInteger(text) { return .int }
            if PlainForm.isFloat(text) { return .float }
            return PlainForm.isTimestamp(text) ? .timestamp : .str
        }
    }
}
