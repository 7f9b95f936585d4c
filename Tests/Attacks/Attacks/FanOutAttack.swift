import NotifyWire

/// A few connections with very many subscriptions on everything, which are read. Others post.
final class FanOutAttack: Attack {
    static let connections = 25

    private let links: [Link]

    init(_ target: Target) throws {
        links = try target.links(Self.connections)
        for link in links { link.subscribe(target.size / Self.connections) { _ in [">"] } }
    }

    func step() {
        Link.serve(links)
    }

    var figures: [String: Int] { ["subscriptions": links.count(.subscribed)] }
}
