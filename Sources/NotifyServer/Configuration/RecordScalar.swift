import NotifyUnits
import NotifyYAML

/// The type of a single value in a record: its description for errors, and its parser.
struct RecordScalar<Value: Sendable>: Sendable {
    let expectation: String
    private let read: @Sendable (Node) -> Value?

    /// - Parameters:
    ///   - expectation: A description of a valid value, with its article.
    ///   - read: Converts a scalar to a value. Returns `nil` if the scalar is invalid.
    init(expectation: String, read: @escaping @Sendable (Node) -> Value?) {
        self.expectation = expectation
        self.read = read
    }

    func value(of node: Node) throws(ConfigurationFileError) -> Value {
        guard case .scalar(let scalar) = node else {
            throw ConfigurationFileError(node.mark, "expected \(expectation), not a list or mapping")
        }
        guard let value = read(node) else {
            throw ConfigurationFileError(node.mark, "expected \(expectation), not \(scalar.asWritten)")
        }
        return value
    }

    /// - Parameters:
    ///   - expectation: A description of a valid text, with its article: "a name pattern".
    ///   - make: Converts a text to a value. Returns `nil` if the text is invalid.
    static func text(_ expectation: String, _ make: @escaping @Sendable (String) -> Value?) -> RecordScalar {
        RecordScalar(expectation: expectation) { node in
            guard node.tag == .str else { return nil }
            return node.string.flatMap(make)
        }
    }
}

extension RecordScalar<Int> {
    static func integer(_ range: ClosedRange<Int>) -> RecordScalar {
        RecordScalar(expectation: "an integer from \(range.lowerBound) to \(range.upperBound)") { node in
            guard node.tag == .int, let number = node.quantity.flatMap(Quantity.count), range.contains(number) else {
                return nil
            }
            return number
        }
    }
}

extension RecordScalar<UInt64> {
    static func size(_ range: ClosedRange<UInt64>) -> RecordScalar {
        RecordScalar(expectation: Quantity.expectation(ofBytes: range)) { node in
            guard let bytes = node.quantity.flatMap(Quantity.bytes), range.contains(bytes) else { return nil }
            return bytes
        }
    }
}

extension RecordScalar<Duration> {
    static func duration(_ range: ClosedRange<Duration>) -> RecordScalar {
        RecordScalar(expectation: Quantity.expectation(of: range)) { node in
            guard let duration = node.quantity.flatMap(Quantity.duration), range.contains(duration) else { return nil }
            return duration
        }
    }
}
