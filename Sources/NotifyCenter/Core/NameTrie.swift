/// A trie of patterns with wildcards, with one level for each token. The node at which a pattern ends contains the
/// number of the pattern's place in the ``RegistrationIndex``.
struct NameTrie: ~Copyable, Sendable {
    /// The position at which a pattern ends: a node, or a tail wildcard below a node.
    struct End: Hashable, Sendable, BitwiseCopyable {
        let node: Int32
        let isTail: Bool
    }

    private struct Node: BitwiseCopyable {
        let parent: Int32
        /// The entry in `literals` for the token of this node, or -1 for the root and for a node of the token `*`.
        let entry: Int32
        var star: Int32 = -1
        var literalChildren: Int32 = 0
        /// The literal children of a node form a linked list.
        var firstChild: Int32 = -1
        var previousSibling: Int32 = -1
        var nextSibling: Int32 = -1
        /// The length of this node's token, and its first 8 bytes.
        var tokenCount: Int32 = 0
        var tokenStart: UInt64 = 0
        var place: Int32 = -1
        var tailPlace: Int32 = -1
        /// The number of registrations at `place` and at `tailPlace`.
        var weight: Int32 = 0
        var tailWeight: Int32 = 0
        /// The maximum work of matching a name from this node on, and the highest `overlap` of the literal children.
        var overlap: Int32 = 0
        var literalOverlap: Int32 = 0

        var isEmpty: Bool { star < 0 && literalChildren == 0 && place < 0 && tailPlace < 0 }
    }

    private static let root: Int32 = 0
    /// The number of literal children up to which comparing each of them takes less time than hashing the token.
    private static let comparedChildren = 8

    /// The work of visiting a node. The unit is the visit of one registration: a node takes 0.37 µs, a registration
    /// 0.02 µs.
    private static let nodeWeight: Int32 = 16

    private let hash: KeyedHash
    private let reservedFirstToken: ContiguousArray<UInt8>?
    private var nodes = Pool<Node>()
    private var literals = ByteTable()
    /// The nodes that the tokens so far lead to, and those that the next token leads to. Reusable buffers, so that a
    /// look-up does not allocate.
    private var current = ReusableBuffer<Int32>()
    private var following = ReusableBuffer<Int32>()

    init(hash: KeyedHash, reservedFirstToken: String?) {
        self.hash = hash
        self.reservedFirstToken = reservedFirstToken.map { ContiguousArray($0.utf8) }
        _ = nodes.insert(Node(parent: -1, entry: -1))
    }

    var nodeCount: Int { nodes.count }

    /// The work of visiting nodes, in visits of registrations.
    static func work(ofNodes count: Int) -> Int { count &* Int(nodeWeight) }

    /// The memory of the trie, in bytes.
    var byteCount: Int { nodes.byteCount + literals.byteCount }

    /// The part of ``byteCount`` that is vacant.
    var vacantByteCount: Int { nodes.vacantByteCount + literals.vacantByteCount }

    func place(at end: End) -> Int32 {
        end.isTail ? nodes[end.node].tailPlace : nodes[end.node].place
    }

    mutating func setPlace(_ place: Int32, at end: End) {
        if end.isTail { nodes[end.node].tailPlace = place } else { nodes[end.node].place = place }
    }

    /// Returns the position at which a pattern ends, and inserts missing nodes.
    mutating func end(of pattern: UnsafeRawBufferPointer) -> End {
        var node = Self.root
        var tokens = Tokens(pattern)
        while let token = tokens.next() {
            if token.count == 1 && token[0] == UInt8(ascii: ">") { return End(node: node, isTail: true) }
            node = child(of: node, for: token)
        }
        return End(node: node, isTail: false)
    }

    private mutating func child(of node: Int32, for token: UnsafeRawBufferPointer) -> Int32 {
        if token.count == 1 && token[0] == UInt8(ascii: "*") {
            if nodes[node].star < 0 { nodes[node].star = nodes.insert(Node(parent: node, entry: -1)) }
            return nodes[node].star
        }
        let hash = hash(token)
        if let child = literals.value(of: token, hash: hash, scope: node) { return child }
        // The entry and the node refer to each other, so the node is inserted first to obtain its number.
        let child = nodes.insert(Node(parent: node, entry: -1))
        let entry = literals.insert(token, hash: hash, scope: node, value: child)
        let next = nodes[node].firstChild
        nodes[child] = Node(
            parent: node, entry: entry, nextSibling: next, tokenCount: Int32(token.count), tokenStart: token.start)
        if next >= 0 { nodes[next].previousSibling = child }
        nodes[node].firstChild = child
        nodes[node].literalChildren += 1
        return child
    }

    /// Returns the pattern that ends at a position.
    func pattern(at end: End) -> NamePattern {
        var tokens: [String] = end.isTail ? [">"] : []
        var index = end.node
        while index != Self.root {
            let node = nodes[index]
            tokens.append(
                node.entry < 0 ? "*" : String(decoding: literals.bytes(ofEntry: node.entry), as: UTF8.self))
            index = node.parent
        }
        // Only valid patterns are inserted.
        guard let pattern = try? NamePattern(tokens.reversed().joined(separator: ".")) else {
            preconditionFailure("the trie contains an invalid pattern")
        }
        return pattern
    }

    /// Removes the place of a pattern, and the nodes that are empty without it.
    mutating func removePlace(at end: End) {
        setPlace(-1, at: end)
        var index = end.node
        while index != Self.root && nodes[index].isEmpty {
            let node = nodes[index]
            if node.entry < 0 {
                nodes[node.parent].star = -1
            } else {
                literals.remove(entry: node.entry)
                nodes[node.parent].literalChildren -= 1
                if node.previousSibling >= 0 {
                    nodes[node.previousSibling].nextSibling = node.nextSibling
                } else {
                    nodes[node.parent].firstChild = node.nextSibling
                }
                if node.nextSibling >= 0 { nodes[node.nextSibling].previousSibling = node.previousSibling }
            }
            nodes.remove(index)
            index = node.parent
        }
    }

    // MARK: Overlap

    /// An upper bound of the work of matching any one name, including the visits of the matching registrations. The
    /// unit is the visit of one registration. May be too high after removals. Maintained by ``setWeight(_:at:)``.
    var overlap: Int { Int(nodes[Self.root].overlap) }

    /// The number of changes since the last call of ``tightenOverlap(_:)`` that may have left the overlap too high.
    private(set) var removalsSinceTightening = 0

    /// Records that the overlap may be too high.
    mutating func loosenOverlap() { removalsSinceTightening += 1 }

    /// Sets the number of registrations that are visited at the end of a pattern.
    mutating func setWeight(_ weight: Int32, at end: End) {
        let earlier = end.isTail ? nodes[end.node].tailWeight : nodes[end.node].weight
        if end.isTail { nodes[end.node].tailWeight = weight } else { nodes[end.node].weight = weight }
        if weight < earlier { loosenOverlap() }
        var index = end.node
        while index >= 0 {
            let overlap = overlap(of: index)
            if overlap == nodes[index].overlap { return }
            nodes[index].overlap = overlap
            let (parent, entry) = (nodes[index].parent, nodes[index].entry)
            if parent >= 0, entry >= 0 {
                if overlap <= nodes[parent].literalOverlap { return }
                nodes[parent].literalOverlap = overlap
            }
            index = parent
        }
    }

    /// Recomputes the overlap.
    ///
    /// - Parameter weight: Returns the number of registrations that are visited at a place.
    mutating func tightenOverlap(_ weight: (_ place: Int32) -> Int32) {
        removalsSinceTightening = 0
        // Breadth-first order: parents precede their children.
        var order: [Int32] = [Self.root]
        var next = 0
        while next < order.count {
            let node = nodes[order[next]]
            next += 1
            if node.star >= 0 { order.append(node.star) }
            var child = node.firstChild
            while child >= 0 {
                order.append(child)
                child = nodes[child].nextSibling
            }
        }
        for index in order {
            nodes[index].literalOverlap = 0
            nodes[index].weight = nodes[index].place >= 0 ? weight(nodes[index].place) : 0
            nodes[index].tailWeight = nodes[index].tailPlace >= 0 ? weight(nodes[index].tailPlace) : 0
        }
        for index in order.reversed() {
            let overlap = overlap(of: index)
            nodes[index].overlap = overlap
            let (parent, entry) = (nodes[index].parent, nodes[index].entry)
            if parent >= 0, entry >= 0 { nodes[parent].literalOverlap = max(nodes[parent].literalOverlap, overlap) }
        }
    }

    /// Returns the maximum work of matching a name from a node on. A token leads to the `*` child and to at most one
    /// literal child.
    private func overlap(of index: Int32) -> Int32 {
        let node = nodes[index]
        let star = node.star >= 0 ? nodes[node.star].overlap : 0
        let sum = Int(Self.nodeWeight) + Int(node.weight) + Int(node.tailWeight) + Int(star) + Int(node.literalOverlap)
        return Int32(clamping: sum)
    }

    // MARK: Gathering

    /// Adds the places of all patterns that match a name.
    ///
    /// - Returns: The work that was done, in visits of registrations.
    mutating func gather(_ name: UnsafeRawBufferPointer, into places: inout ReusableBuffer<Int32>) -> Int {
        if nodes[Self.root].isEmpty { return 0 }
        var visited = 0
        current.removeAll()
        current.append(Self.root)
        var tokens = Tokens(name)
        var mayStartWithWildcard = !isReserved(name)
        while !current.isEmpty, let token = tokens.next() {
            visited &+= current.count
            let start = token.start
            var tokenHash: UInt64?
            for index in current.values {
                let node = nodes.pointer(index)
                if mayStartWithWildcard {
                    if node.pointee.tailPlace >= 0 { places.append(node.pointee.tailPlace) }
                    if node.pointee.star >= 0 { following.append(node.pointee.star) }
                }
                let child: Int32
                if node.pointee.literalChildren <= Self.comparedChildren {
                    child = self.child(of: index, comparing: token, start: start)
                } else {
                    let hash = tokenHash ?? hash(token)
                    tokenHash = hash
                    child = literals.value(of: token, hash: hash, scope: index) ?? -1
                }
                if child >= 0 { following.append(child) }
            }
            mayStartWithWildcard = true
            swap(&current, &following)
            following.removeAll()
        }
        for index in current.values where nodes[index].place >= 0 { places.append(nodes[index].place) }
        return Self.work(ofNodes: visited &+ current.count)
    }

    /// Returns the literal child for a token, or -1.
    @inline(__always)
    private func child(of node: Int32, comparing token: UnsafeRawBufferPointer, start: UInt64) -> Int32 {
        var child = nodes.pointer(node).pointee.firstChild
        while child >= 0 {
            let candidate = nodes.pointer(child)
            if candidate.pointee.tokenStart == start && Int(candidate.pointee.tokenCount) == token.count
                && (token.count <= 8 || literals.bytes(ofEntry: candidate.pointee.entry).hasSameBytes(as: token))
            {
                return child
            }
            child = candidate.pointee.nextSibling
        }
        return -1
    }

    /// Whether the first token of a name is the reserved one.
    @inline(__always)
    private func isReserved(_ name: UnsafeRawBufferPointer) -> Bool {
        guard let reservedFirstToken, name.count >= reservedFirstToken.count else { return false }
        if name.count > reservedFirstToken.count && name[reservedFirstToken.count] != UInt8(ascii: ".") { return false }
        return zip(reservedFirstToken, name).allSatisfy { $0 == $1 }
    }
}

extension UnsafeRawBufferPointer {
    /// The first 8 bytes, or all bytes if there are fewer, as a little-endian number.
    @inline(__always)
    fileprivate var start: UInt64 {
        guard let baseAddress else { return 0 }
        return count >= 8 ? UInt64(littleEndian: baseAddress.word(at: 0)) : baseAddress.tail(count: count)
    }
}

/// An iterator over the tokens of a name. An empty name has one token, which is empty.
private struct Tokens {
    private let base: UnsafeRawPointer?
    private let count: Int
    private var start = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        base = bytes.baseAddress
        count = bytes.count
    }

    @inline(__always)
    mutating func next() -> UnsafeRawBufferPointer? {
        guard start <= count else { return nil }
        guard let base else {
            start = 1
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        var end = start
        var dots: UInt64 = 0
        while end &+ 8 <= count {
            dots = UInt64(littleEndian: base.word(at: end)).occurrences(of: UInt8(ascii: "."))
            if dots != 0 { break }
            end &+= 8
        }
        if dots != 0 {
            end &+= dots.trailingZeroBitCount &>> 3
        } else {
            while end < count && base.load(fromByteOffset: end, as: UInt8.self) != UInt8(ascii: ".") { end &+= 1 }
        }
        let token = UnsafeRawBufferPointer(start: base + start, count: end &- start)
        start = end &+ 1
        return token
    }
}
