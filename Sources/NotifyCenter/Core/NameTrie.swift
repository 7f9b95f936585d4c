/// Patterns with wildcards, token by token. A node stands for the tokens on the way to it; what ends there is a place.
struct NameTrie: ~Copyable, Sendable {
    /// Where a pattern ends: at a node, or in a tail wildcard below it.
    struct End: Hashable, Sendable, BitwiseCopyable {
        let node: Int32
        let isTail: Bool
    }

    private struct Node: BitwiseCopyable {
        let parent: Int32
        /// The entry in `literals` that leads here, or `none` if a star does.
        let entry: Int32
        var star: Int32 = -1
        var literalChildren: Int32 = 0
        var place: Int32 = -1
        var tailPlace: Int32 = -1

        var isEmpty: Bool { star < 0 && literalChildren == 0 && place < 0 && tailPlace < 0 }
    }

    private static let root: Int32 = 0

    private let hash: KeyedHash
    private let reservedFirstToken: ContiguousArray<UInt8>?
    private var nodes = Pool<Node>()
    private var literals = ByteTable()

    init(hash: KeyedHash, reservedFirstToken: String?) {
        self.hash = hash
        self.reservedFirstToken = reservedFirstToken.map { ContiguousArray($0.utf8) }
        _ = nodes.insert(Node(parent: -1, entry: -1))
    }

    var nodeCount: Int { nodes.count }

    func place(at end: End) -> Int32 {
        end.isTail ? nodes[end.node].tailPlace : nodes[end.node].place
    }

    mutating func setPlace(_ place: Int32, at end: End) {
        if end.isTail { nodes[end.node].tailPlace = place } else { nodes[end.node].place = place }
    }

    /// Where a pattern ends. Makes the nodes on the way.
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
        if let child = literals.find(token, hash: hash, scope: node) { return child }
        // The entry has to know the node and the node the entry; the node's number is settled first.
        let child = nodes.insert(Node(parent: node, entry: -1))
        let entry = literals.insert(token, hash: hash, scope: node, value: child)
        nodes[child] = Node(parent: node, entry: entry)
        nodes[node].literalChildren += 1
        return child
    }

    /// Removes the place of a pattern, and the nodes that nothing needs any more.
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
            }
            nodes.remove(index)
            index = node.parent
        }
    }

    /// Adds the places of all patterns that match a name.
    func gather(_ name: UnsafeRawBufferPointer, into places: inout ContiguousArray<Int32>) {
        if nodes[Self.root].isEmpty { return }
        var current: ContiguousArray<Int32> = [Self.root]
        var following: ContiguousArray<Int32> = []
        var tokens = Tokens(name)
        var isReserved = isReserved(tokens.first)
        while let token = tokens.next(), !current.isEmpty {
            let hash = hash(token)
            for index in current {
                let node = nodes[index]
                if !isReserved {
                    if node.tailPlace >= 0 { places.append(node.tailPlace) }
                    if node.star >= 0 { following.append(node.star) }
                }
                if node.literalChildren > 0, let child = literals.find(token, hash: hash, scope: index) {
                    following.append(child)
                }
            }
            isReserved = false
            swap(&current, &following)
            following.removeAll(keepingCapacity: true)
        }
        for index in current where nodes[index].place >= 0 { places.append(nodes[index].place) }
    }

    private func isReserved(_ token: UnsafeRawBufferPointer?) -> Bool {
        guard let token, let reservedFirstToken else { return false }
        return reservedFirstToken.withUnsafeBytes { token.hasSameBytes(as: $0) }
    }
}

/// The tokens of a name, one after another. Even an empty name has one, which is empty.
private struct Tokens {
    private let bytes: UnsafeRawBufferPointer
    private var start = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var first: UnsafeRawBufferPointer? {
        var copy = self
        return copy.next()
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard start <= bytes.count else { return nil }
        var end = start
        while end < bytes.count && bytes[end] != UInt8(ascii: ".") { end += 1 }
        defer { start = end + 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}
