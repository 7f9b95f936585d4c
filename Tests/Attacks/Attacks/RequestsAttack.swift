import NotifyWire
import WireTestSupport

/// Many connections that each send 200 kB of small requests at once and read the answers.
final class RequestsAttack: Attack {
    private static let bytes = 200_000
    private static let unknownKind: UInt8 = 0x3F

    private let links: [Link]
    private let requests: [[UInt8]]

    init(_ target: Target) throws {
        links = try target.links(target.size)
        requests = [
            Batch.of(Statistics(request: 1), bytes: Self.bytes),
            Batch.of(rawFrame(Self.unknownKind), bytes: Self.bytes), Batch.of(Ping(request: 1), bytes: Self.bytes),
        ]
        Link.serve(links) { links.count(.welcome) + links.count(where: { !$0.isOpen }) == links.count }
    }

    func step() {
        for (index, link) in links.enumerated() where link.isFlushed {
            link.write(shared: requests[index % requests.count])
        }
        // Flushed together, so that the daemon receives them in one turn of its event loop.
        for link in links { link.flush() }
        Link.serve(links)
    }
}
