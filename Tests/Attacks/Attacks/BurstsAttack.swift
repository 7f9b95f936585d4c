import NotifyWire

/// Connections that all send large messages at once, repeatedly: 686 kB each, so 686 MB with the default 1,000
/// connections.
final class BurstsAttack: Attack {
    private let links: [Link]
    private var block = PostBlock(names: [String](repeating: "burst", count: 10), payload: 68_600)
    private var request: UInt64 = 1

    init(_ target: Target) throws {
        links = try target.links(target.size)
        Link.serve(links) { links.count(.welcome) + links.count(where: { !$0.isOpen }) == links.count }
    }

    func step() {
        if links.allSatisfy(\.isFlushed) {
            let bytes = Array(block.numbered(block.count, request: request))
            request += UInt64(block.count)
            for link in links { link.write(shared: bytes) }
        }
        Link.serve(links)
    }
}
