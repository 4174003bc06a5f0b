//===- nccl.cpp - an NCCL without GPUs ------------------------------------===//
//
// What runtime/comm/nccl_library.cpp calls of the library, for programs on
// emulated devices: memory is the host's, calls end when the bytes are there,
// and what one rank sends another, a thread or a process, grows at the end of a
// file of these two, behind its size. As in NCCL, calls of a group belong
// together, and what two ranks send one another meets in their order.
//
// With NCCL_LOG set each call is a line of that file. NCCL_FAULT is "RANK:WHAT"
// or "RANK:WHAT:N", what goes wrong on that rank, from its Nth group on: the
// communicator does not start ("init"), as where two ranks have one GPU; a
// group fails ("send"), never ends ("stall"), or does so after an error that is
// found later ("async"). Compiled with BATON_OLD_NCCL it says that it is too
// old.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int internal_error = 3, invalid_argument = 4, invalid_usage = 5,
              remote_error = 6, in_progress = 7, uint8 = 1;

struct UniqueId {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, cluster_size, least_blocks, most_blocks;
  const char *network;
};

/// A file of messages, and where the next one begins.
struct Channel {
  int file = -1;
  off_t place = 0;
};

struct Communicator {
  std::string folder;
  int ranks, rank;
  std::string fault;
  long fault_group = 0;
  std::atomic<int> error = 0;
  std::string last_error;
  long groups = 0;
  /// To each rank, and from it.
  std::map<int, Channel> to, from;
};

struct Message {
  Communicator *communicator;
  const void *data;
  void *receive;
  size_t bytes;
  int peer;
};

thread_local int depth = 0;
thread_local std::vector<Message> messages;

void log(const std::string &line) {
  if (const char *path = getenv("NCCL_LOG")) {
    // One write, which those of others do not mix with.
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (write(file, (line + "\n").c_str(), line.size() + 1) < 0)
      abort();
    close(file);
  }
}

std::string file(const Communicator &communicator, int from, int to) {
  return communicator.folder + "/" + std::to_string(from) + "-" +
         std::to_string(to);
}

/// An empty file, which says something by being there.
bool put(const std::string &name) {
  const int file = open(name.c_str(), O_WRONLY | O_CREAT, 0666);
  return file >= 0 && close(file) == 0;
}

bool send(Communicator &communicator, int peer, const void *data,
          size_t bytes) {
  Channel &channel = communicator.to[peer];
  if (channel.file < 0)
    channel.file = open(file(communicator, communicator.rank, peer).c_str(),
                        O_WRONLY | O_CREAT | O_APPEND, 0666);
  iovec parts[] = {{&bytes, sizeof bytes}, {const_cast<void *>(data), bytes}};
  return writev(channel.file, parts, 2) ==
         static_cast<ssize_t>(sizeof bytes + bytes);
}

bool receive(Communicator &communicator, int peer, void *data, size_t bytes) {
  Channel &channel = communicator.from[peer];
  const std::string name = file(communicator, peer, communicator.rank);
  while (channel.file < 0 && (channel.file = open(name.c_str(), O_RDONLY)) < 0)
    usleep(100);
  const auto wait_until = [&](off_t end) {
    for (struct stat found; fstat(channel.file, &found) == 0;) {
      if (found.st_size >= end)
        return;
      usleep(100);
    }
  };
  size_t sent = 0;
  wait_until(channel.place + sizeof sent);
  if (pread(channel.file, &sent, sizeof sent, channel.place) != sizeof sent ||
      sent != bytes)
    return false;
  channel.place += sizeof sent;
  wait_until(channel.place + bytes);
  if (pread(channel.file, data, bytes, channel.place) !=
      static_cast<ssize_t>(bytes))
    return false;
  channel.place += bytes;
  return true;
}

/// All sends, then all receives: none waits for what is behind it.
int finish() {
  std::vector<Message> list;
  list.swap(messages);
  if (list.empty())
    return 0;
  Communicator &communicator = *list.front().communicator;
  const long group = ++communicator.groups;
  if (!communicator.fault.empty() && group >= communicator.fault_group) {
    if (communicator.fault == "send") {
      communicator.last_error = "connection refused by\npeer";
      return internal_error;
    }
    if (communicator.fault == "async")
      communicator.error = remote_error;
    if (communicator.fault == "stall" || communicator.fault == "async")
      while (true)
        sleep(1000);
  }
  for (const Message &message : list)
    if (message.data &&
        !send(communicator, message.peer, message.data, message.bytes))
      return internal_error;
  for (const Message &message : list)
    if (!message.data &&
        !receive(communicator, message.peer, message.receive, message.bytes))
      return invalid_argument;
  return 0;
}

int add(Message message, const char *call) {
  Communicator &communicator = *message.communicator;
  if (message.peer < 0 || message.peer >= communicator.ranks)
    return invalid_argument;
  if (communicator.error)
    return communicator.error;
  log(std::to_string(communicator.rank) + " " + call + " " +
      std::to_string(message.bytes) + " " + std::to_string(message.peer));
  messages.push_back(message);
  return depth ? 0 : finish();
}

} // namespace

extern "C" {

int ncclGetVersion(int *version) {
#ifdef BATON_OLD_NCCL
  *version = 21200;
#else
  *version = 22809;
#endif
  return 0;
}
const char *ncclGetErrorString(int result) {
  return result == internal_error  ? "internal error"
         : result == invalid_usage ? "invalid usage"
         : result == remote_error  ? "remote process exited"
                                   : "invalid argument";
}
const char *ncclGetLastError(void *communicator) {
  return communicator
             ? static_cast<Communicator *>(communicator)->last_error.c_str()
             : "";
}
int ncclGetUniqueId(UniqueId *id) {
  const char *folder = getenv("TMPDIR");
  std::string path = std::string(folder ? folder : "/tmp") + "/nccl-XXXXXX";
  if (path.size() >= sizeof id->bytes || !mkdtemp(path.data()))
    return internal_error;
  memset(id, 0, sizeof *id);
  memcpy(id->bytes, path.c_str(), path.size());
  return 0;
}
int ncclCommInitRankConfig(void **made, int ranks, UniqueId id, int rank,
                           Config *config) {
  if (!config || config->magic != 0xcafebeef ||
      config->size != sizeof *config || config->version < 21400 ||
      config->blocking != 0 || rank < 0 || rank >= ranks)
    return invalid_argument;
  auto *communicator = new Communicator;
  communicator->folder = id.bytes;
  communicator->ranks = ranks;
  communicator->rank = rank;
  if (const char *fault = getenv("NCCL_FAULT")) {
    char what[16] = "";
    int faulty = -1;
    long group = 1;
    sscanf(fault, "%d:%15[a-z]:%ld", &faulty, what, &group);
    if (faulty == rank) {
      communicator->fault = what;
      communicator->fault_group = group;
    }
  }
  if (communicator->fault == "init")
    communicator->last_error = "Duplicate GPU detected : rank 1 and rank 0 "
                               "both on CUDA device 1000";
  log(std::to_string(rank) + " init " + std::to_string(ranks) + " " +
      std::to_string(config->most_blocks));
  if (!put(communicator->folder + "/rank-" + std::to_string(rank)))
    return internal_error;
  *made = communicator;
  return in_progress;
}
int ncclCommGetAsyncError(void *given, int *result) {
  auto &communicator = *static_cast<Communicator *>(given);
  *result =
      communicator.fault == "init" ? invalid_usage : communicator.error.load();
  for (int rank = 0; rank < communicator.ranks && *result == 0; ++rank) {
    struct stat found;
    std::string name = communicator.folder + "/rank-" + std::to_string(rank);
    if (stat(name.c_str(), &found) != 0)
      *result = in_progress;
  }
  return 0;
}
int ncclCommDestroy(void *given) {
  auto *communicator = static_cast<Communicator *>(given);
  const std::string folder = communicator->folder;
  for (auto *channels : {&communicator->to, &communicator->from})
    for (auto &[peer, channel] : *channels)
      close(channel.file);
  // What it was sent, it has read. The last one finds no other.
  for (auto &[peer, channel] : communicator->from)
    unlink(file(*communicator, peer, communicator->rank).c_str());
  put(folder + "/gone-" + std::to_string(communicator->rank));
  int gone = 0;
  for (int rank = 0; rank < communicator->ranks; ++rank) {
    struct stat found;
    gone +=
        stat((folder + "/gone-" + std::to_string(rank)).c_str(), &found) == 0;
  }
  if (gone == communicator->ranks) {
    for (int rank = 0; rank < communicator->ranks; ++rank) {
      unlink((folder + "/gone-" + std::to_string(rank)).c_str());
      unlink((folder + "/rank-" + std::to_string(rank)).c_str());
    }
    rmdir(folder.c_str());
  }
  delete communicator;
  return 0;
}
int ncclGroupStart() { return ++depth, 0; }
int ncclGroupEnd() {
  if (depth == 0)
    return invalid_usage;
  return --depth ? 0 : finish();
}
int ncclSend(const void *data, size_t count, int type, int peer,
             void *communicator, void *) {
  return type != uint8 ? invalid_argument
                       : add({static_cast<Communicator *>(communicator), data,
                              nullptr, count, peer},
                             "send");
}
int ncclRecv(void *data, size_t count, int type, int peer, void *communicator,
             void *) {
  return type != uint8 ? invalid_argument
                       : add({static_cast<Communicator *>(communicator),
                              nullptr, data, count, peer},
                             "receive");
}
int ncclAllGather(const void *data, void *receive, size_t count, int type,
                  void *given, void *) {
  auto *communicator = static_cast<Communicator *>(given);
  if (type != uint8)
    return invalid_argument;
  ncclGroupStart();
  int result = 0;
  for (int peer = 0; peer < communicator->ranks && result == 0; ++peer) {
    result = add({communicator, data, nullptr, count, peer}, "gather_send");
    if (result == 0)
      result = add({communicator, nullptr,
                    static_cast<char *>(receive) + count * peer, count, peer},
                   "gather_receive");
  }
  const int ended = ncclGroupEnd();
  return result ? result : ended;
}

} // extern "C"
