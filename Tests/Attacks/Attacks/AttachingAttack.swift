import NotifyWire

/// Connections that create durable subscriptions and detach them, on and on, without waiting for an answer.
final class AttachingAttack: Attack {
    private static let batch = 64
    private static let namesPerConnection = 100

    private let links: [Link]
    private var number = 0

    init(_ target: Target) throws {
        links = try target.links(target.size)
        Link.serve(links) { links.count(.welcome) + links.count(where: { !$0.isOpen }) == links.count }
    }

    func step() {
        for (index, link) in links.enumerated() where link.isFlushed {
            for _ in 0..<Self.batch {
                number += 1
                link.write(
                    Subscribe(
                        request: link.newRequest(), subscription: UInt32(truncatingIfNeeded: number),
                        patterns: ["attaching.\(index).>"],
                        durableName: "attaching-\(index)-\(number % Self.namesPerConnection)"))
                link.write(Detach(request: link.newRequest(), subscription: UInt32(truncatingIfNeeded: number)))
            }
            link.flush()
        }
        Link.serve(links)
    }
}
