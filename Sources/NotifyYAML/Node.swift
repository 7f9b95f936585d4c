/// A node of a YAML document: a value and its place in the text.
package enum Node: Sendable {
    case scalar(Scalar)
    case sequence(Elements)
    case mapping(Mapping)

    /// A single value.
    package struct Scalar: Sendable {
        package enum Style: Sendable {
            case plain
            /// A text in quotes, or a block of text.
            case quoted
        }

        package let string: String
        package let style: Style
        package let tag: Tag
        package let mark: Mark
    }

    /// The elements of a sequence.
    package struct Elements: Sendable {
        package let nodes: [Node]
        package let tag: Tag
        package let mark: Mark
    }

    /// Pairs of keys and values, in the order of the text. No two scalar keys are equal.
    package struct Mapping: Sendable {
        package let pairs: [(key: Node, value: Node)]
        package let tag: Tag
        package let mark: Mark
    }

    package var mark: Mark {
        switch self {
        case .scalar(let scalar): scalar.mark
        case .sequence(let elements): elements.mark
        case .mapping(let mapping): mapping.mark
        }
    }

    /// The tag that is written in the text. For a node without a written tag, the type of the value:
    /// ``Tag/init(ofPlain:)`` has the rules for plain scalars.
    package var tag: Tag {
        switch self {
        case .scalar(let scalar): scalar.tag
        case .sequence(let elements): elements.tag
        case .mapping(let mapping): mapping.tag
        }
    }

    package var scalar: Scalar? {
        guard case .scalar(let scalar) = self else { return nil }
        return scalar
    }

    /// The text of a scalar.
    package var string: String? { scalar?.string }
    /// The value of a plain scalar that is an integer.
    package var int: Int? { scalar.flatMap { $0.style == .plain ? Numbers.integer($0.string) : nil } }
    /// The value of a plain scalar that is a number.
    package var float: Double? { scalar.flatMap { $0.style == .plain ? Numbers.float($0.string) : nil } }
}

extension Node.Elements: RandomAccessCollection {
    package var startIndex: Int { nodes.startIndex }
    package var endIndex: Int { nodes.endIndex }
    package subscript(index: Int) -> Node { nodes[index] }
}

extension Node.Mapping: Sequence {
    package func makeIterator() -> IndexingIterator<[(key: Node, value: Node)]> { pairs.makeIterator() }
}

/// A place in the text of a document. Both numbers begin with 1.
package struct Mark: Sendable, Equatable {
    package let line: Int
    package let column: Int
}
