import TestSupport

/// An attack on the daemon by one user. All frames are well-formed.
protocol Attack: AnyObject {
    /// Connects, subscribes and makes other preparations.
    init(_ target: Target) throws
    /// Does a bounded amount of work. Waits briefly if there is no work.
    func step()
    /// The number of the attack's connections or subscriptions that the daemon admitted.
    var admitted: Int { get }
    /// Results of the attack by name, for the checks of its row.
    var figures: [String: Int] { get }
}

extension Attack {
    var figures: [String: Int] { [:] }
}

/// The daemon that is attacked, and the parameters of the attack.
struct Target {
    let socket: String
    /// The size of the attack: a number of connections or subscriptions, depending on the attack.
    let size: Int
    let seed: UInt64

    var generator: SeededGenerator { SeededGenerator(seed: seed) }

    func connections(_ count: Int) throws -> [Connection] { try (0..<count).map { _ in try Connection(socket) } }
}

extension AttackKind {
    /// The smallest ``Attack/admitted`` with which the row is meaningful: the attack's size if the attack is within all
    /// limits, 1 if the attack exceeds a limit, and for poison the number of jobs that use up a share.
    var leastAdmitted: Int {
        switch self {
        case .resolutions, .patterns, .abandoned: 1
        case .poison: PoisonAttack.jobsOfShare
        default: size
        }
    }
}

/// The attacks by name.
enum AttackKind: String, CaseIterable {
    case names, resolutions, requests, fanOut, unread, stoppedDurable, stoppedVolatile, patterns, bursts, attaching
    case siblings, keepLatest, flood, members, services, crowd, abandoned, storm, halfClose, poison, values
    case announcements, reads

    /// The attacks that are mixed with others. The others run only by themselves: crowd, abandoned, storm and
    /// halfClose, because each uses up its user's share of the memory, poison and values, because they need limits, and
    /// reads, because other attacks of the same user would prevent its first round.
    static let mixed = allCases.filter {
        ![.crowd, .abandoned, .storm, .halfClose, .poison, .values, .reads].contains($0)
    }

    func begin(_ target: Target) throws -> any Attack {
        switch self {
        case .names: try NamesAttack(target)
        case .resolutions: try ResolutionsAttack(target)
        case .requests: try RequestsAttack(target)
        case .fanOut: try FanOutAttack(target)
        case .unread: try UnreadAttack(target)
        case .stoppedDurable: try StoppedDurableAttack(target)
        case .stoppedVolatile: try StoppedVolatileAttack(target)
        case .patterns: try PatternsAttack(target)
        case .bursts: try BurstsAttack(target)
        case .attaching: try AttachingAttack(target)
        case .siblings: try SiblingsAttack(target)
        case .keepLatest: try KeepLatestAttack(target)
        case .flood: try FloodAttack(target)
        case .members: try MembersAttack(target)
        case .services: try ServicesAttack(target)
        case .crowd: try CrowdAttack(target)
        case .abandoned: try AbandonedAttack(target)
        case .storm: try StormAttack(target)
        case .halfClose: try HalfCloseAttack(target)
        case .poison: try PoisonAttack(target)
        case .values: try ValuesAttack(target)
        case .announcements: try AnnouncementsAttack(target)
        case .reads: try ReadsAttack(target)
        }
    }

    /// The default size, used by the row of the attack.
    var size: Int {
        switch self {
        case .names: 10_000
        case .resolutions: 4096
        case .requests: 400
        case .fanOut: 100_000
        case .unread: 300
        case .stoppedDurable: 40
        case .stoppedVolatile: 60
        case .patterns: 4096
        case .bursts: 1000
        case .attaching: 64
        case .siblings: 80
        case .keepLatest: 16
        case .flood: 100
        case .members: 10_000
        case .services: 8
        case .crowd: 12_000
        case .abandoned: 10_000
        case .storm, .halfClose: 15_000
        case .poison: 40
        case .values: 20
        case .announcements: 12
        case .reads: 28
        }
    }
}
