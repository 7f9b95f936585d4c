import NotifyWire

/// 25 connections that together have very many subscriptions to '>' and read their deliveries. The innocents post.
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
