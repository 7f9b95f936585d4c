import NotifyWire

/// Connections that send requests and do not read the answers, beside a fast subscriber of the same user (the innocents
/// run as the attacker).
final class SiblingsAttack: Attack {
    private static let bytes = 64 << 10

    private let links: [Link]
    private let requests = Batch.of(Statistics(request: 1), bytes: bytes)

    init(_ target: Target) throws {
        links = try target.links(target.size)
        Link.serve(links) { links.count(.welcome) + links.count(where: { !$0.isOpen }) == links.count }
        for link in links { link.isReading = false }
    }

    func step() {
        for link in links where link.isFlushed {
            link.write(shared: requests)
            link.flush()
        }
        Link.serve(links)
    }
}
