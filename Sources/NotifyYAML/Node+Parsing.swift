extension Node {
    /// The maximum nesting depth of sequences and mappings.
    package static let maximumDepth = 100

    /// Parses a text that contains at most one document.
    ///
    /// An alias becomes a copy of its node. A merge key (`<<`) is not applied: it is a key like any other.
    ///
    /// - Returns: `nil` for a text without a document.
    package static func parse(_ text: String) throws(YAMLError) -> Node? {
        var text = text
        // `withUTF8` has no typed throws.
        let result = text.withUTF8 { bytes in
            Result { () throws(YAMLError) in
                var composer = Composer(bytes)
                return try composer.document()
            }
        }
        return try result.get()
    }
}

/// Composes nodes from the events of a document.
private struct Composer {
    private let reader: EventReader
    private var anchors: [String: Node] = [:]

    init(_ text: UnsafeBufferPointer<UInt8>) {
        reader = EventReader(text)
    }

    mutating func document() throws(YAMLError) -> Node? {
        // The start of the stream.
        _ = try reader.next()
        guard case .documentStart = try reader.next().event else { return nil }
        let (event, mark) = try reader.next()
        let root = try node(event, mark, depth: 0)
        // The end of the document.
        _ = try reader.next()
        let (end, place) = try reader.next()
        guard case .streamEnd = end else { throw .invalid(problem: "a second document begins", place) }
        return root
    }

    private mutating func node(_ event: EventReader.Event, _ mark: Mark, depth: Int) throws(YAMLError) -> Node {
        guard depth <= Node.maximumDepth else {
            throw .invalid(problem: "nested more than \(Node.maximumDepth) deep", mark)
        }
        switch event {
        case .scalar(let scalar, let anchor):
            return register(.scalar(scalar), anchor)
        case .sequenceStart(let tag, let anchor):
            let nodes = try elements(depth)
            return register(.sequence(Node.Elements(nodes: nodes, tag: tag, mark: mark)), anchor)
        case .mappingStart(let tag, let anchor):
            let pairs = try pairs(depth)
            try checkDuplicates(pairs)
            return register(.mapping(Node.Mapping(pairs: pairs, tag: tag, mark: mark)), anchor)
        case .alias(let name):
            guard let node = anchors[name] else { throw .invalid(problem: "found undefined alias", mark) }
            return node
        case .end, .documentStart, .documentEnd, .streamEnd, .other:
            preconditionFailure("libyaml gave an event out of order")
        }
    }

    private mutating func register(_ node: Node, _ anchor: String?) -> Node {
        if let anchor { anchors[anchor] = node }
        return node
    }

    private mutating func elements(_ depth: Int) throws(YAMLError) -> [Node] {
        var nodes: [Node] = []
        while true {
            let (event, mark) = try reader.next()
            if case .end = event { return nodes }
            nodes.append(try node(event, mark, depth: depth + 1))
        }
    }

    private mutating func pairs(_ depth: Int) throws(YAMLError) -> [(key: Node, value: Node)] {
        var pairs: [(key: Node, value: Node)] = []
        while true {
            let (event, mark) = try reader.next()
            if case .end = event { return pairs }
            let key = try node(event, mark, depth: depth + 1)
            let (valueEvent, valueMark) = try reader.next()
            pairs.append((key, try node(valueEvent, valueMark, depth: depth + 1)))
        }
    }

    private func checkDuplicates(_ pairs: [(key: Node, value: Node)]) throws(YAMLError) {
        struct Key: Hashable {
            let string: String
            let tag: Node.Tag
        }
        var seen: [Key: Mark] = [:]
        var duplicates: [String] = []
        var place: Mark?
        for case .scalar(let scalar) in pairs.map(\.key) {
            let key = Key(string: scalar.string, tag: scalar.tag)
            guard let first = seen.updateValue(scalar.mark, forKey: key) else { continue }
            duplicates.append(scalar.string)
            place = place ?? first
        }
        if let place { throw .duplicateKeys(Set(duplicates).sorted(), place) }
    }
}
