// Counts the allocations of a post, and fails if there are any.
//
//   allocations               every case
//   allocations CASE POSTS    one case alone, for a profiler that counts instructions
import MallocCounter
import NotifyCenter

let name = NotificationName(literal: "orders.created.in.europe")
let object: NotificationObject = "an order whose number does not fit into a word"

final class Owner: Sendable {}

struct Small: NotificationMessage {
    static let notificationName = name
    let order = 17
}

struct Large: NotificationMessage {
    static let notificationName = name
    let words: InlineArray<25, UInt64> = .init(repeating: 17)
}

var tokens: [ObservationToken] = []
var owners: [Owner] = []

/// A center with this number of observers. The closures are empty, but the compiler cannot optimize the calls away.
@MainActor
func center(_ count: Int, object: NotificationObject? = nil) -> LocalCenter {
    let center = LocalCenter()
    for _ in 0..<count { tokens.append(center.observe(name, object: object) { _ in }) }
    return center
}

@MainActor
func ownedCenter(_ count: Int) -> LocalCenter {
    let center = LocalCenter()
    for _ in 0..<count {
        let owner = Owner()
        center.observe(name, owner: owner) { _, _ in }
        owners.append(owner)
    }
    return center
}

@MainActor
func typedCenter<Message: NotificationMessage>(_ type: Message.Type) -> LocalCenter {
    let center = LocalCenter()
    tokens.append(center.observe(type) { _ in })
    return center
}

@MainActor
func coreNames(_ count: Int) -> CoreNames {
    do {
        return try CoreNames(count)
    } catch {
        fatalError("\(error)")
    }
}

/// The cases. `prepare` creates a center and returns the function to measure, which makes one post.
let cases: [(title: String, prepare: @MainActor () -> () -> Void)] = [
    (
        "no observer",
        {
            let center = center(0); return { center.post(name) }
        }
    ),
    (
        "1 observer",
        {
            let center = center(1); return { center.post(name) }
        }
    ),
    (
        "10 observers",
        {
            let center = center(10); return { center.post(name) }
        }
    ),
    (
        "1000 observers",
        {
            let center = center(1_000); return { center.post(name) }
        }
    ),
    (
        "1 owner",
        {
            let center = ownedCenter(1); return { center.post(name) }
        }
    ),
    (
        "1000 owners",
        {
            let center = ownedCenter(1_000); return { center.post(name) }
        }
    ),
    (
        "text object",
        {
            let center = center(1, object: object); return { center.post(name, object: object) }
        }
    ),
    (
        "instance object",
        {
            let owner = Owner()
            let center = center(1, object: NotificationObject(instance: owner))
            return { center.post(name, object: NotificationObject(instance: owner)) }
        }
    ),
    (
        "small message",
        {
            let center = typedCenter(Small.self); return { center.post(Small()) }
        }
    ),
    (
        "200-byte message",
        {
            let center = typedCenter(Large.self); return { center.post(Large()) }
        }
    ),
    (
        "payload of a word",
        {
            let center = center(1); return { center.post(name, payload: 17) }
        }
    ),
    (
        "cached name in the core",
        {
            let names = coreNames(1_000)
            guard !names.isFull else { fatalError("the cache is too small") }
            return { names.post() }
        }
    ),
    (
        "uncached name in the core",
        {
            let names = coreNames(100_000)
            guard names.isFull else { fatalError("the cache holds every name") }
            return { names.post() }
        }
    ),
]

/// Returns the number of allocations during `posts` calls of `post`, after a warm-up.
func allocations(of post: () -> Void, posts: Int) -> UInt {
    for _ in 0..<100 { post() }
    let before = allocation_count()
    for _ in 0..<posts { post() }
    return allocation_count() - before
}

guard allocations(of: { owners.append(Owner()) }, posts: 1_000) >= 1_000 else {
    fatalError("the counter does not count")
}

let arguments = CommandLine.arguments.dropFirst()
let posts = arguments.dropFirst().first.flatMap { Int($0) } ?? 10_000
var failures = 0
for (title, prepare) in cases where arguments.first.map({ $0 == title }) ?? true {
    let count = allocations(of: prepare(), posts: posts)
    print("\(count) allocations in \(posts) posts: \(title)")
    if count > 0 { failures += 1 }
}
if failures > 0 { fatalError("a post allocates") }
