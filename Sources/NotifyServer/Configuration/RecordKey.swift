import NotifyYAML

/// A key allowed in the records of a ``RecordList``, and the type of its value.
struct RecordKey<Value: Sendable>: DeclaredRecordKey {
    let name: String
    let isRequired: Bool
    private let read: @Sendable (Node, inout RecordBudget) throws(ConfigurationFileError) -> Value

    /// A key with a single value.
    static func one(_ name: String, _ scalar: RecordScalar<Value>, isRequired: Bool = false) -> RecordKey {
        RecordKey(name: name, isRequired: isRequired) { node, budget throws(ConfigurationFileError) in
            try budget.spend(node.mark)
            return try scalar.value(of: node)
        }
    }

    /// A key with a list of one or more values.
    static func list<Element>(
        _ name: String, of scalar: RecordScalar<Element>, isRequired: Bool = false
    ) -> RecordKey where Value == [Element] {
        RecordKey(name: name, isRequired: isRequired) { node, budget throws(ConfigurationFileError) in
            guard case .sequence(let sequence) = node, !sequence.isEmpty else {
                throw ConfigurationFileError(
                    node.mark, "expected a list of one or more values, each \(scalar.expectation)")
            }
            var values: [Element] = []
            for element in sequence {
                try budget.spend(element.mark)
                values.append(try scalar.value(of: element))
            }
            return values
        }
    }

    func value(of node: Node, _ budget: inout RecordBudget) throws(ConfigurationFileError) -> any Sendable {
        try read(node, &budget)
    }
}

/// A ``RecordKey`` of any type.
protocol DeclaredRecordKey: Sendable {
    var name: String { get }
    var isRequired: Bool { get }
    func value(of node: Node, _ budget: inout RecordBudget) throws(ConfigurationFileError) -> any Sendable
}

/// Limits the number of values read for a list, because YAML aliases can expand a small file to any number of values.
struct RecordBudget {
    /// The maximum number of values, which exceeds the number that a file of the largest size can contain without
    /// aliases.
    static let maximumValues = ConfigurationDocument.maximumBytes

    private var left = maximumValues

    mutating func spend(_ mark: Mark?) throws(ConfigurationFileError) {
        guard left > 0 else { throw ConfigurationFileError(mark, "more than \(Self.maximumValues) values") }
        left -= 1
    }
}
