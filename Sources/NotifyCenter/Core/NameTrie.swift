/// A trie of patterns with wildcards, one level for each token. Where a pattern ends, its node refers to a place.
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
        /// The literal children of a node are in a list.
        var firstChild: Int32 = -1
        var previousSibling: Int32 = -1
        var nextSibling: Int32 = -1
        /// The length of the token that leads here, and up to 8 bytes that it begins with.
        var tokenCount: Int32 = 0
        var tokenStart: UInt64 = 0
        var place: Int32 = -1
        var tailPlace: Int32 = -1

        var isEmpty: Bool { star < 0 && literalChildren == 0 && place < 0 && tailPlace < 0 }
    }

    private static let root: Int32 = 0
    /// Up to so many literal children are compared one by one, which takes less time than hashing the token.
    private static let comparedChildren = 8

    private let hash: KeyedHash
    private let reservedFirstToken: ContiguousArray<UInt8>?
    private var nodes = Pool<Node>()
    private var literals = ByteTable()
    /// The nodes that the tokens so far lead to, and those that the next one leads to. Kept, so that no look-up allocates.
    private var current = ReusableBuffer<Int32>()
    private var following = ReusableBuffer<Int32>()

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

    /// Finds where a pattern ends, and inserts the nodes that are missing.
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
        // The entry has to know the node and the node the entry; the node's number is settled first.
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

    /// Adds the places of all patterns that match a name.
    mutating func gather(_ name: UnsafeRawBufferPointer, into places: inout ReusableBuffer<Int32>) {
        if nodes[Self.root].isEmpty { return }
        current.removeAll()
        current.append(Self.root)
        var tokens = Tokens(name)
        var mayStartWithWildcard = !isReserved(name)
        while !current.isEmpty, let token = tokens.next() {
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
    }

    /// The literal child for a token, or -1.
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

    /// Whether the first token is the reserved one.
    @inline(__always)
    private func isReserved(_ name: UnsafeRawBufferPointer) -> Bool {
        guard let reservedFirstToken, name.count >= reservedFirstToken.count else { return false }
        if name.count > reservedFirstToken.count && name[reservedFirstToken.count] != UInt8(ascii: ".") { return false }
        return zip(reservedFirstToken, name).allSatisfy { $0 == $1 }
    }
}

extension UnsafeRawBufferPointer {
    /// The first 8 bytes, or all if there are fewer.
    @inline(__always)
    fileprivate var start: UInt64 {
        guard let baseAddress else { return 0 }
        return count >= 8 ? UInt64(littleEndian: baseAddress.word(at: 0)) : baseAddress.tail(count: count)
    }
}

/// The tokens of a name, one after another. Even an empty name has one, which is empty.
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
