# SPDX-License-Identifier: Apache-2.0

# Ways in which a Ruby program hangs, selected by the first argument. Prints "ready" before it hangs.
require "socket"

def ready
  puts "ready"
  $stdout.flush
end

def save_order
  orders = Mutex.new
  Thread.new { orders.lock; sleep }
  sleep 0.1
  ready
  orders.lock
end

def fetch_prices
  server = TCPServer.new("127.0.0.1", 0)
  connection = TCPSocket.new("127.0.0.1", server.addr[1])
  ready
  connection.read
end

def run_tool
  ready
  system("sleep 1000")
end

def compute_primes
  ready
  number = 1
  number = number * 31 % 1_000_003 + 7 while true
end

{ "lock" => :save_order, "read" => :fetch_prices, "child" => :run_tool, "spin" => :compute_primes }.each do |way, hang|
  send(hang) if ARGV[0] == way
end
