import NotifyCenter
import NotifyWire

/// The rules for one right, found by the names and patterns that they apply to. Immutable.
///
/// A node stands for the beginning of a pattern. A rule is stored at the nodes where its patterns end.
struct RuleTrie: Sendable {
    private struct Node {
        var children: [[UInt8]: Int] = [:]
        var wildcard: Int?
        var ownUID: Int?
        /// The index in `RuleTrie.ends` of the rules whose pattern ends at this node.
        var exact: Int?
        /// The index in `RuleTrie.ends` of the rules whose pattern ends with a `>` after this node.
        var rest: Int?
    }

    /// Whether patterns with a wildcard in first position match names that are reserved for the daemon.
    private let wildcardsMatchReserved: Bool
    private var nodes = [Node()]
    /// The sets of rules, one for each pattern.
    private(set) var ends: [RuleSet] = []

    init(_ right: AccessRight, _ rules: [AccessRule]) {
        wildcardsMatchReserved = right == .manage
        for (number, rule) in rules.enumerated() where rule.rights.contains(right) {
            for pattern in rule.names { pattern.withUTF8 { insert(rule, number, at: $0) } }
        }
    }

    private mutating func insert(_ rule: AccessRule, _ number: Int, at pattern: UnsafeRawBufferPointer) {
        var node = 0
        var tokens = TokenCursor(pattern)
        while let token = tokens.next() {
            if token.elementsEqual(">".utf8) {
                let end = nodes[node].rest ?? makeEnd()
                nodes[node].rest = end
                ends[end].add(rule, number)
                return
            }
            node = child(of: node, for: token)
        }
        let end = nodes[node].exact ?? makeEnd()
        nodes[node].exact = end
        ends[end].add(rule, number)
    }

    private mutating func child(of node: Int, for token: UnsafeRawBufferPointer) -> Int {
        let new = nodes.count
        if token.elementsEqual("*".utf8) {
            if let child = nodes[node].wildcard { return child }
            nodes[node].wildcard = new
        } else if token.elementsEqual(AccessRule.ownUIDToken.utf8) {
            if let child = nodes[node].ownUID { return child }
            nodes[node].ownUID = new
        } else {
            if let child = nodes[node].children[Array(token)] { return child }
            nodes[node].children[Array(token)] = new
        }
        nodes.append(Node())
        return new
    }

    private mutating func makeEnd() -> Int {
        ends.append(RuleSet())
        return ends.count - 1
    }
}

// MARK: - Names

extension RuleTrie {
    /// A node reached in the search, and the tokens that are left to match.
    private struct Step {
        var node: Int
        var tokens: TokenCursor
        /// The uid that the peer must have, because `$uid` matched a token; nil if the peer may have any uid.
        var uid: UInt32?

        /// The step to a child that matches the next token.
        func to(_ node: Int, after tokens: TokenCursor) -> Step { Step(node: node, tokens: tokens, uid: uid) }

        /// The step to a `$uid` child; nil if the token is not a uid, or differs from a uid matched earlier.
        func to(_ node: Int, ownUID token: UnsafeRawBufferPointer, after tokens: TokenCursor) -> Step? {
            guard let uid = UInt32(canonicalDecimal: token), self.uid.map({ $0 == uid }) ?? true else { return nil }
            return Step(node: node, tokens: tokens, uid: uid)
        }
    }

    /// The rules that apply to a name.
    func rules(for name: UnsafeRawBufferPointer) -> RuleMatches {
        rules(covering: name, isPattern: false)
    }

    /// The rules that apply to every name that `pattern` matches.
    func rules(covering pattern: NamePattern) -> RuleMatches {
        pattern.withUTF8 { rules(covering: $0, isPattern: true) }
    }

    private func rules(covering name: UnsafeRawBufferPointer, isPattern: Bool) -> RuleMatches {
        var matches = RuleMatches()
        let hidesWildcards = hidesWildcards(from: name)
        var pending = [Step(node: 0, tokens: TokenCursor(name), uid: nil)]
        while let step = pending.popLast() {
            let node = nodes[step.node]
            var tokens = step.tokens
            guard let token = tokens.next() else {
                if let end = node.exact { matches.add(end, uid: step.uid) }
                continue
            }
            let isHidden = step.node == 0 && hidesWildcards
            if let end = node.rest, !isHidden { matches.add(end, uid: step.uid) }
            if isPattern, token.elementsEqual(">".utf8) { continue }
            if let child = node.wildcard, !isHidden { pending.append(step.to(child, after: tokens)) }
            if isPattern, token.elementsEqual("*".utf8) { continue }
            if let child = node.children[Array(token)] { pending.append(step.to(child, after: tokens)) }
            if let child = node.ownUID, let next = step.to(child, ownUID: token, after: tokens) {
                pending.append(next)
            }
        }
        matches.sort(ends)
        return matches
    }

    private func hidesWildcards(from name: UnsafeRawBufferPointer) -> Bool {
        !wildcardsMatchReserved && ReservedNames.isReserved(name)
    }

    /// Finds a rule that comes after rule `number`, has the effect, and applies to `identity` and to some of the names
    /// that `pattern` matches.
    ///
    /// - Returns: The number of the rule; nil if there is none.
    func rule(
        above number: Int, _ effect: AccessRule.Effect, overlapping pattern: NamePattern,
        for identity: borrowing Identity, in rules: [AccessRule]
    ) -> Int? {
        let identity = copy identity
        return pattern.withUTF8 { bytes in
            let hidesWildcards = hidesWildcards(from: bytes)
            var pending = [(node: 0, tokens: TokenCursor(bytes), isBelow: false)]
            while let (index, tokensBefore, isBelow) = pending.popLast() {
                let node = nodes[index]
                var tokens = tokensBefore
                let token = isBelow ? nil : tokens.next()
                func applying(_ end: Int?) -> Int? {
                    guard let end, ends[end].last > number, let found = ends[end].rule(for: identity) else {
                        return nil
                    }
                    return found > number && rules[found].effect == effect ? found : nil
                }
                let isRest = token.map { $0.elementsEqual(">".utf8) } ?? false
                let isHidden = index == 0 && hidesWildcards
                if token == nil, let found = applying(node.exact) { return found }
                if token != nil || isBelow, !isHidden, let found = applying(node.rest) { return found }
                if isBelow || isRest || token.map({ $0.elementsEqual("*".utf8) }) ?? false {
                    for (name, child) in node.children where index != 0 || !isHiddenFromWildcard(name) {
                        pending.append((child, tokens, isBelow || isRest))
                    }
                    for child in [node.wildcard, node.ownUID].compactMap({ $0 }) {
                        pending.append((child, tokens, isBelow || isRest))
                    }
                } else if let token {
                    if let child = node.children[Array(token)] { pending.append((child, tokens, false)) }
                    if let child = node.wildcard, !isHidden { pending.append((child, tokens, false)) }
                    if let child = node.ownUID, UInt32(canonicalDecimal: token) == identity.uid {
                        pending.append((child, tokens, false))
                    }
                }
            }
            return nil
        }
    }

    private func isHiddenFromWildcard(_ token: [UInt8]) -> Bool {
        !wildcardsMatchReserved && token.elementsEqual(ReservedNames.daemonToken.utf8)
    }
}

/// The tokens of a name or pattern, in order.
package struct TokenCursor {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package mutating func next() -> UnsafeRawBufferPointer? {
        guard offset <= bytes.count else { return nil }
        let token = bytes.slice(from: offset).firstToken
        offset += token.count + 1
        return token
    }
}

extension UInt32 {
    /// Parses a decimal number. Returns nil for leading zeros, so that each uid has only one form.
    init?(canonicalDecimal digits: UnsafeRawBufferPointer) {
        guard (1...10).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else {
            return nil
        }
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        self.init(exactly: value)
    }
}
